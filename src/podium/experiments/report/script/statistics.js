// All pairs of methods, and mean ranks.
function duels() {
  const total = data.queries.valued;
  const caption =
    `On how many of ${total} ${units} the method of the row has a higher ${measure} than that of the column; ` +
    "blue: it wins more often than it loses, orange: less often";
  return [matrix(caption, (i, j) => won(i, j, total))];
}

function agreement() {
  const whose = `the ${data.item}s of a ${data.unit}`;
  const caption = `Spearman’s correlation between two methods’ scores of ${whose}, mean over ${units}`;
  return data.agreement ? [matrix(caption, agreed)] : [];
}

// Methods against methods; columns are numbered, since names would not fit.
function matrix(caption, cellOf) {
  const heads = methods.map(({ name }, j) =>
    html("th", { scope: "col", class: "number", abbr: name, "data-tip": name }, String(j + 1)),
  );
  const self = () => html("td", { class: "self" }, "·");
  const cells = methods.map((_, i) => methods.map((_, j) => (i === j ? self() : cellOf(i, j))));
  const rows = methods.map(({ name }, i) => {
    const title = html("th", { scope: "row" }, html("span", { class: "place" }, String(i + 1)), ` ${name}`);
    return row([title, ...cells[i]]);
  });
  const made = table(caption, ["method", ...heads], rows, { kind: "scroll fitting", class: "matrix", role: "grid" });
  made.style.setProperty("--columns", methods.length);
  roving(made, cells.flat(), { columns: methods.length, start: 1 });
  return made;
}

function won(i, j, total) {
  const [wins, losses] = [data.duels[i][j], data.duels[j][i]];
  const ties = total - wins - losses;
  const tip = `${methods[i].name} against ${methods[j].name}: ${wins} won, ${ties} tied, ${losses} lost`;
  return shaded(wins, (wins - losses) / Math.max(wins + losses, 1), tip, () => showPair(i, j));
}

function agreed(i, j) {
  const value = data.agreement[i][j];
  if (value === null) return html("td", { class: "self" }, "–"); // one of them gives all the same score
  const tip = `${methods[i].name} and ${methods[j].name}: ${value.toFixed(3)}`;
  const text = Math.abs(value) < 0.005 ? ".00" : value.toFixed(2).replace("0.", ".").replace("-", "−");
  const lean = Math.sign(value) * value ** 4; // most are near 1: this shows where they are not
  return shaded(text, lean, tip, () => showPair(i, j));
}

function showPair(i, j) {
  change({ a: methods[i].name, b: methods[j].name });
  scrollTo(document.getElementById("pair"));
  document.querySelector("#pair select").focus({ preventScroll: true }); // the focus goes where the reader looks
}

function shaded(text, lean, tip, onclick) {
  const cell = html("td", { class: lean < 0 ? "minus" : "plus", "data-tip": tip, onclick }, String(text));
  cell.style.setProperty("--much", `${Math.round(Math.min(1, Math.abs(lean)) * 100)}%`);
  return cell;
}

// Each method's bar is as long as the critical difference: methods whose bars do not overlap differ significantly.
function ranks(box) {
  const { mean, critical, level, queries } = data.ranks;
  const order = methods.map((_, i) => i).sort((i, j) => mean[i] - mean[j]);
  const [best, line, half] = [order[0], 22, critical / 2];
  const longest = Math.max(...methods.map(({ name }) => wide(name)));
  const ends = mean.flatMap((rank) => [rank - half, rank + half]);
  const named = order.map((i) => `${methods[i].name} ${mean[i].toFixed(2)}`);
  const chart = frame({
    box,
    height: line * methods.length + 70,
    label: `Mean ranks: ${named.join(", ")}; critical difference ${critical.toFixed(2)}`,
    x: axis(`mean rank over ${units}, 1 is best`, ends, { grid: true }),
    y: { name: "", low: 0, high: 1, ticks: [] },
    left: Math.min(20 + longest, Math.max(150, box.clientWidth * 0.4)),
  });
  const { root, px, top, left } = chart;
  const [from, to] = [px(mean[best] - half), px(mean[best] + half)];
  root.prepend(svg("rect", { class: "zone", x: from, y: top, width: to - from, height: line * methods.length + 4 }));
  order.forEach((i, place) => {
    const y = top + line * (place + 0.6);
    const apart = mean[i] - mean[best] > critical;
    const worse = apart ? ", significantly worse than the best" : "";
    const tip = `${methods[i].name}: mean rank ${mean[i].toFixed(2)}${worse}`;
    const group = svg("g", { class: apart ? "rank apart" : "rank", "data-tip": tip });
    group.append(svg("line", { x1: px(mean[i] - half), x2: px(mean[i] + half), y1: y, y2: y }));
    group.append(svg("circle", { cx: px(mean[i]), cy: y, r: 4.5 }));
    const name = fitted(methods[i].name, left - 14);
    group.append(svg("text", { class: "name ink", x: left - 10, y: y + 4, "text-anchor": "end" }, name));
    root.append(group);
  });
  const note =
    `Each bar is as long as the critical difference (${critical.toFixed(2)}, Nemenyi test at the level ${level} over ` +
    `${queries} ${units}): methods whose bars do not overlap differ significantly. ` +
    "Filled: no significant difference from the best.";
  return [html("h3", {}, "Mean ranks"), root, html("p", { class: "soft" }, note)];
}
