recall();
leaderboard();
if (methods.length) {
  figure("curves-chart", ["methods"], curves);
  figure("training-chart", ["methods", "fold"], training);
  figure("cost-chart", ["methods"], cost);
  figure("duels-table", [], duels);
  figure("ranks-chart", [], ranks);
  figure("agreement-table", [], agreement);
  figure("disputed-table", [], disputed);
  figure("pair-chart", ["a", "b", "metric", "query"], pair);
  figure("explorer", ["a", "b", "metric", "query", "why"], explorer);
  figure("weights-chart", ["weights"], weights);
}
downloads();
trials();
follow(["query"], () => state.query && document.getElementById("explorer")?.scrollIntoView({ block: "nearest" }));
window.addEventListener("hashchange", () => recall() && change({ ...state }));
if (state.query) scrollTo(document.getElementById("explorer"));
