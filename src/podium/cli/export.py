"""Write a model in the format of a search engine, of ONNX, XGBoost, LightGBM or SQL.

Write a saved model in the format of a search engine or another library. Beside FILE go FILE.README.md, which says how
to use it, and FILE.features.json, the features that the model expects. --check scores documents in Python and in the
target and compares: exit code 1 if any two documents of a query come in a different order there.

examples:
  podium export --list                                         the formats, and what they take
  podium export --list model.podium                            which of them take this model, and why not the others
  podium export model.podium --format solr -o model.json --feature-names names.txt --check test.txt
  podium export model.podium --format onnx -o model.onnx --check test.txt
  podium export model.podium --format sql --set table=documents -o score.sql

Where the target runs in Python (onnxruntime, XGBoost, LightGBM, SQLite, DuckDB), --check uses it; for search engines it
reads FILE back and computes as the engine does. Scores that float32 does not tell apart count as tied.
"""

import argparse
from typing import Any

from podium.cli import options, output


def configure(parser: options.Parser) -> None:
    parser.option("model MODEL", "a file that `podium train` wrote", nargs="?")
    parser.option("--format NAME", "one that --list shows")
    parser.option("-o --out FILE", "the file to write")
    parser.option("--feature-names FILE", "what the target calls the features: one name per line, in the model's order")
    parser.option("--check DATA", f"compare with the target on these documents ({options.DATA_HELP})")
    parser.option("--list", "list the formats; with MODEL, those that take it")
    shown = "an option of the format, as --list shows them"
    parser.repeated("--set NAME=VALUE", shown, dest="settings", type=options.named)
    parser.option("--json", "print JSON")
    options.add_part_option(parser)
    options.add_data_options(parser)


def run(arguments: argparse.Namespace) -> int:
    if arguments.list:
        return _list(arguments)
    required = {"MODEL": arguments.model, "--format": arguments.format, "--out": arguments.out}
    if missing := [name for name, value in required.items() if value is None]:
        raise ValueError(f"{' and '.join(missing)} missing: podium export MODEL --format NAME -o FILE, or --list")
    from podium.export import check_export, export
    from podium.export.target import find

    target = find(arguments.format)  # a mistake should not surface after the model is loaded
    ranker = options.load_model(arguments)
    names = arguments.feature_names and options.read_feature_names(arguments.feature_names, ranker.n_features_in_)
    queries = arguments.check and options.read_documents(arguments.check, arguments, ranker)
    files = export(ranker, arguments.out, format=target.name, feature_names=names, **dict(arguments.settings))
    checks = check_export(ranker, arguments.out, queries, format=target.name) if arguments.check else []
    if arguments.json:
        checked = [check.as_dict() for check in checks]
        output.print_json({"format": target.name, "files": list(map(str, files)), "checks": checked})
    else:
        print(f"{target.title}: {arguments.model} written to {arguments.out}")
        for file in files[1:]:
            print(f"  {file}")
        for check in checks:
            print(check)
    return 0 if all(checks) else 1


def _list(arguments: argparse.Namespace) -> int:
    from podium.export import export_refusals
    from podium.export.target import targets

    reasons = export_refusals(options.load_model(arguments)) if arguments.model else {}
    rows = []
    for name, target in targets().items():
        facts: dict[str, Any] = {"format": name, "title": target.title, "takes": target.takes}
        facts |= {"checked_by": list(target.runs) or ["emulation"], "options": dict(target.options)}
        rows.append(facts | ({"refused": reasons[name]} if arguments.model else {}))
    if arguments.json:
        output.print_json(rows)
        return 0
    if arguments.model:
        cells = [[row["format"], "yes" if row["refused"] is None else f"no: {row['refused']}"] for row in rows]
        output.print_table(["format", "takes this model"], cells)
        return 0
    cells = [[row["format"], row["title"], row["takes"], ", ".join(row["checked_by"])] for row in rows]
    output.print_table(["format", "title", "takes", "checked by"], cells)
    print("\noptions, --set NAME=VALUE:")
    for row in rows:
        for name, help in row["options"].items():
            print(f"  {row['format']}: {name}: {help}")
    return 0
