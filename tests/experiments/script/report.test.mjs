// The logic of the report's script, without a browser: files are run in the page's order with the little of a page that
// they ask for when they start. What they draw is tested in a browser.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import vm from "node:vm";

const folder = new URL("../../../src/podium/experiments/report/script/", import.meta.url);
const names = ["core", "state", "charts", "files"];
const offered =
  "({ four, signed, time, many, capital, ticks, logTicks, spread, fitted, axis, asCsv, files, joined, parted, " +
  "state, defaults, change, follow, remember, recall, toggleMethod, styleOf })";

const methods = ["pmop", "list;net", "random", "100%"].map((name, i) => ({
  name,
  family: name === "random" ? "floor" : "listwise",
  means: { map: [0.5 - i / 10, 0.4, 0.6] },
  p: i / 10,
  seconds: i,
}));
const content = {
  methods,
  primary: "map",
  convention: "letor",
  unit: "query",
  units: "queries",
  published: [],
  folds: ["Fold1"],
  queries: { ids: ["1", "2"], fold: [0, 0] },
  values: { map: methods.map((_, i) => [i / 10, null]) },
};

// Run the script on a page whose address ends with `hash`.
function page(hash = "") {
  const location = { hash, pathname: "/report.html", search: "" };
  const addresses = [];
  const context = {
    URLSearchParams,
    location,
    history: { replaceState: (_state, _title, address) => addresses.push(address) },
    getComputedStyle: () => ({ fontFamily: "serif" }),
    document: {
      body: { append: () => {} },
      getElementById: (id) => (id === "data" ? { textContent: JSON.stringify(content) } : null),
      querySelectorAll: () => [{ dataset: { family: "listwise" } }],
      createElement: () => ({
        getContext: () => ({ measureText: (text) => ({ width: 10 * text.length }) }),
        setAttribute: () => {},
        append: () => {},
      }),
      addEventListener: () => {},
    },
    addEventListener: () => {},
  };
  const text = names.map((name) => readFileSync(new URL(`${name}.js`, folder), "utf-8")).join("\n");
  const found = vm.runInNewContext(`(() => {"use strict";\n${text}\nreturn ${offered};})()`, context);
  return { ...found, addresses };
}
const plain = (value) => JSON.parse(JSON.stringify(value)); // objects of another realm are never strictly equal

test("figures are written with as many digits as a reader needs", () => {
  const { four, signed, time, many, capital } = page();
  assert.equal(four(0.44445), "0.4445");
  assert.equal(four(null), "–");
  assert.deepEqual([0.01, -0.01, 0].map(signed), ["+0.0100", "−0.0100", "±0.0000"]);
  assert.deepEqual([123.4, 12.34, 0.123, 0.0012].map(time), ["123 s", "12.3 s", "0.12 s", "0.001 s"]);
  assert.deepEqual([many(1, "query", "queries"), many(2, "query", "queries")], ["1 query", "2 queries"]);
  assert.equal(capital("wins"), "Wins");
});

test("ticks are round, ascending and cover the range", () => {
  const { ticks, logTicks } = page();
  assert.deepEqual(plain(ticks(0, 1)), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  for (const [low, high] of [[0.413, 0.457], [-3, 8], [0, 1e-6], [5, 5], [0, 0], [1e9, 3e9]]) {
    const found = ticks(low, high);
    assert.ok(found.length >= 2 && found.length <= 9, `${found}`);
    assert.ok(found[0] <= low && found.at(-1) >= high, `${low} ${high}: ${found}`);
    assert.ok(found.every((value, i) => i === 0 || value > found[i - 1]));
  }
  assert.deepEqual(plain(logTicks(0.02, 30)), [0.01, 0.1, 1, 10, 100]);
});

test("labels are moved apart, by as little as possible, and stay within bounds", () => {
  const { spread } = page();
  assert.deepEqual(plain(spread([10, 50], 12, 0, 100)), [10, 50]);
  const placed = spread([50, 50, 51], 12, 0, 100);
  const sorted = [...placed].sort((a, b) => a - b);
  assert.ok(sorted[1] - sorted[0] >= 12 && sorted[2] - sorted[1] >= 12);
  assert.ok(placed[0] <= placed[2] && placed[1] <= placed[2]);
  assert.ok(Math.max(...spread([98, 99, 100], 12, 0, 100)) <= 100);
});

test("a text that does not fit ends with an ellipsis and fits", () => {
  const { fitted } = page();
  assert.equal(fitted("short", 50), "short");
  assert.equal(fitted("rather long", 50), "rath…");
});

test("CSV quotes what it has to", () => {
  const { asCsv, files } = page();
  assert.equal(asCsv([["a", 'say "hi"', "x,y", null, 0.5, "two\nlines"]]), 'a,"say ""hi""","x,y",,0.5,"two\nlines"\r\n');
  assert.deepEqual(plain(files.table()[0]), ["method", "family", "convention", "map", "map low", "map high", "p (map)", "seconds"]);
  assert.equal(files.table().length, 1 + methods.length);
  assert.deepEqual(plain(files.values()[1]), ["pmop", "Fold1", "1", 0]);
});

test("names of any kind survive the address", () => {
  const { joined, parted } = page();
  for (const some of [["a"], ["list;net", "100%"], ["%3B", ";;", "%25"]]) {
    assert.deepEqual(plain(parted(joined(some))), some);
  }
});

test("a choice is kept in the address, and a link shows it again", () => {
  const first = page();
  first.change({ a: "list;net", methods: ["100%", "list;net"] });
  const address = first.addresses.at(-1);
  const second = page(address);
  assert.ok(second.recall());
  assert.equal(second.state.a, "list;net");
  assert.deepEqual(plain(second.state.methods), ["100%", "list;net"]);
  first.change(first.defaults);
  assert.equal(first.addresses.at(-1), "/report.html"); // the usual view has a plain address
});

test("what a link may not contain is ignored", () => {
  const { recall, state, defaults } = page("#a=<script>&metric=nonsense&order=sideways&fold=7&methods=none;pmop");
  assert.ok(recall());
  assert.deepEqual([state.a, state.metric, state.order, state.fold].map(plain), [defaults.a, "map", "", ""].map(plain));
  assert.deepEqual(plain(state.methods), ["pmop"]);
  assert.equal(page("#explorer").recall(), false); // a plain link to a section
});

test("followers hear of their own choices only", () => {
  const { change, follow } = page();
  const heard = [];
  follow(["a", "b"], () => heard.push("pair"));
  follow(["query"], () => heard.push("query"));
  change({ query: "1" });
  change({ a: "random" });
  assert.deepEqual(heard, ["query", "pair"]);
});

test("highlighted methods have a color, a dash and a marker of their own; floors are not highlighted at first", () => {
  const { state, styleOf, toggleMethod } = page();
  assert.deepEqual(plain(state.methods), ["pmop", "list;net", "100%"]);
  assert.equal(styleOf("random"), null);
  toggleMethod("random");
  assert.deepEqual(plain(styleOf("random")), { color: "c3", dashed: false, shape: 3 });
  toggleMethod("pmop");
  assert.deepEqual(plain(styleOf("list;net")), { color: "c0", dashed: false, shape: 0 });
});
