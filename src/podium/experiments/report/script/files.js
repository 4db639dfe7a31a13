// Figures of the page as files; and the table of all trials, made when it is opened.
function asCsv(rows) {
  const field = (value) => {
    const text = String(value ?? "");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((cells) => `${cells.map(field).join(",")}\r\n`).join("");
}

const files = {
  table() {
    const metrics = Object.keys(methods[0].means);
    const figures = metrics.flatMap((name) => [name, `${name} low`, `${name} high`]);
    const head = ["method", "family", "convention", ...figures, `p (${data.primary})`, "seconds"];
    const line = ({ name, family, means, p, seconds }) =>
      [name, family, data.convention, ...metrics.flatMap((metric) => means[metric]), p, seconds];
    return [head, ...methods.map(line)];
  },
  values() {
    const metrics = Object.keys(data.values);
    const { ids, fold } = data.queries;
    const line = (name, i, q) => [name, data.folds[fold[q]], ids[q], ...metrics.map((m) => data.values[m][i][q])];
    const lines = methods.flatMap(({ name }, i) => ids.map((_, q) => line(name, i, q)));
    return [["method", "fold", data.unit, ...metrics], ...lines];
  },
};

function downloads() {
  const box = document.getElementById("downloads");
  if (!box || !methods.length) return;
  box.hidden = false;
  for (const button of box.querySelectorAll("[data-download]")) {
    const kind = button.dataset.download;
    button.addEventListener("click", () => {
      const address = URL.createObjectURL(new Blob([asCsv(files[kind]())], { type: "text/csv" }));
      html("a", { href: address, download: `${data.name}-${kind}.csv` }).click();
      setTimeout(() => URL.revokeObjectURL(address), 1000);
    });
  }
}

function trials() {
  const details = document.getElementById("trials");
  details?.addEventListener("toggle", () => {
    const box = document.getElementById("trials-table");
    if (!details.open || box.childElementCount) return;
    const numbers = [3, 4];
    const rows = methods.flatMap(({ name, trials: tried }) =>
      tried.map(([fold, parameters, value, seconds, chosen, error]) => {
        const worth = error || four(value);
        const cells = [name, data.folds[fold], parameters || "–", worth, seconds === null ? "–" : time(seconds)];
        return row([...cells, chosen ? "chosen" : ""], numbers, { class: chosen ? "lead" : null });
      }),
    );
    const caption = `All trials, in order; ${measure} on the validation part`;
    const heads = ["method", "fold", "parameters", `validation ${data.primary}`, "fit", ""];
    box.append(table(caption, heads, rows, { numbers }));
  });
}
