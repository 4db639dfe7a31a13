"""Show what a model file holds, and where it comes from.

Show a saved model: method, settings, data, date, versions, how it treats features, what it can be exported to, and its
features with their weights or importances, largest first. For a model of ratings: how many users, items and factors it
has, its loss, biases and priors.

examples:
  podium show model.podium
  podium show model.podium --top 50
  podium show model.podium --json
"""

import argparse
from typing import Any

from podium.cli import options, output

_COUNTED = ("queries", "rows", "ratings", "users", "items")


def configure(parser: options.Parser) -> None:
    parser.option("model MODEL", "a file that `podium train` or ranker.save wrote")
    parser.option("--top N", "list at most N features (default: 20; --json: all)", type=options.positive, default=20)
    parser.option("--json", "print JSON")
    options.add_part_option(parser)


def run(arguments: argparse.Namespace) -> int:
    ranker = options.load_model(arguments)
    facts = _facts(ranker)
    if arguments.json:
        output.print_json({"model": arguments.model, **facts})
        return 0
    print(f"{arguments.model}: {facts['method']}")
    rows = [(name, _text(name, value)) for name, value in facts.items() if name not in ("method", "features", "kind")]
    width = max(len(name) for name, _ in rows)
    for name, text in rows:
        if text:
            print(f"  {name.ljust(width)}  {text}")
    _print_features(facts, arguments.top)
    return 0


def _facts(ranker: Any) -> dict[str, Any]:
    """Return everything that is shown, as JSON has it."""
    from podium.experiments.plan.configuration import plain_parameters

    origin = ranker.provenance_
    named = {"command", "data", "dataset", "saved", "method", "run"}
    versions = {name: value for name, value in origin.items() if isinstance(value, str) and name not in named}
    convergence = ranker.convergence_
    importances, kind = _importances(ranker)
    further = {name: value for name, value in origin.items() if name not in named | versions.keys()}
    return {
        "method": _method(ranker, origin.get("method")),
        "settings": plain_parameters(ranker.get_params(deep=False)),
        "training": f"{convergence.message} ({convergence.n_iter} {convergence.step}s)",
        "queries": getattr(ranker, "n_queries_", None),
        "documents": getattr(ranker, "n_documents_", None),
        **_rating_facts(ranker),
        "data": origin.get("data") or origin.get("dataset"),
        "command": origin.get("command"),
        "run": origin.get("run"),
        "saved": origin.get("saved"),
        "versions": versions,
        "normalization": _normalization(ranker),
        "members": _members(ranker),
        **_exports(ranker),
        **{name: value for name, value in further.items() if value is not None},
        "kind": kind,
        "features": importances,
    }


def _rating_facts(ranker: Any) -> dict[str, Any]:
    """Return what a model of ratings holds; nothing for one of documents."""
    from podium.ratings.estimator import RatingRanker

    if not isinstance(ranker, RatingRanker):
        return {}
    seen, model, loss = ranker.seen_, ranker.model_, ranker._loss()
    priors, weights = getattr(ranker, "priors_", []), getattr(ranker, "prior_weights_", [])
    return {
        "users": seen.n_users,
        "items": seen.n_items,
        "ratings": len(seen),
        "factors": model.item_factors.shape[1],
        "loss": None if loss is None else repr(loss),
        "biases": "of items" if model.item_bias.any() else "none",
        "priors": [f"{prior!r} × {weight:.4g}" for prior, weight in zip(priors, weights, strict=True)],
        "unknown users": "the average user" if ranker.cold == "average" else "refused",
    }


def _method(ranker: Any, name: Any) -> str:
    known = type(ranker).__name__
    return f"{name} ({known})" if name and str(name).lower() != known.lower() else known


def _normalization(ranker: Any) -> str | None:
    from podium.data.normalize import WITHIN_QUERY

    if hasattr(ranker, "rankers_") or not hasattr(ranker, "normalize"):
        return None  # a blend, whose members say it, or a ranker of ratings
    how = ranker.normalize
    if how in WITHIN_QUERY:
        return f"{how}: within each query, so that scoring needs all documents of a query"
    if how is None:
        return "none: features as they come"
    if ranker._scorer().scale_free:
        return "none: this kind of model does not depend on the scale of features"
    log_scale = getattr(ranker.standardization_, "log_scale", None)
    if log_scale is not None:
        logs = int((log_scale > 0).sum())
        taken = "the logarithm of 1 feature" if logs == 1 else f"logarithms of {logs} features"
        return f"{how}: by mean and deviation of the training documents, after {taken}; part of the model"
    return f"{how}: by mean and deviation of the training documents; part of the model"


def _members(ranker: Any) -> dict[str, Any] | None:
    """Return the members of a blend with their shares."""
    members, weights = getattr(ranker, "rankers_", None), getattr(ranker, "weights_", None)
    if members is None or weights is None:
        return None
    shares = weights / weights.sum()
    return {name: f"{share:.3f} ({member!r})" for (name, member), share in zip(members, shares, strict=True)}


def _exports(ranker: Any) -> dict[str, Any]:
    """Return the formats that the model can be exported to, and why not to the others."""
    from podium.export import export_refusals
    from podium.ratings.estimator import RatingRanker

    if isinstance(ranker, RatingRanker):
        return {"export": ["podium ratings export: factors, as Parquet and as matrices for inner products"]}
    reasons = export_refusals(ranker)
    refused = {name: reason for name, reason in reasons.items() if reason is not None}
    return {"export": [name for name in reasons if name not in refused], "not exported": refused}


def _importances(ranker: Any) -> tuple[list[dict[str, Any]], str]:
    """Return features with their weights or importances, largest first, and what these figures are."""
    from podium.core.feature_names import term_name

    kinds = {"coef_": "weight", "feature_importances_": "importance"}
    known = next((name for name in kinds if hasattr(ranker, name)), None)
    if known is None:
        return [], ""
    values, names = getattr(ranker, known).tolist(), getattr(ranker, "feature_names_in_", None)
    units = getattr(getattr(ranker, "standardization_", None), "log_scale", None) if known == "coef_" else None
    order = sorted(range(len(values)), key=lambda j: -abs(values[j]))
    return [{"feature": term_name(j, names, units), "value": values[j]} for j in order], kinds[known]


def _text(name: str, value: Any) -> str:
    if value is None or value == {} or value == []:
        return ""
    if name == "data" and isinstance(value, dict):
        return "; ".join(_data(part, facts) for part, facts in value.items())
    if name == "not exported" and isinstance(value, dict):
        return "; ".join(f"{targets}: {reason}" for targets, reason in output.by_reason(value))
    if name == "auto" and isinstance(value, dict):
        return _choice(value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {item}" if name == "versions" else f"{key}={item}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return str(value)


def _choice(chosen: dict[str, Any]) -> str:
    """Return what ``auto`` picked and what it promises; --json has all that it tried."""
    from podium.experiments.selection import in_words

    pick = in_words(chosen.get("pick", {}))
    estimate = chosen.get("estimate")
    value = "" if estimate is None else f"; {chosen.get('metric')} {estimate:.4f}, {chosen.get('protocol')}"
    return f"{'distilled from ' if chosen.get('distillation') else ''}{pick}{value}"


def _data(part: str, facts: Any) -> str:
    if not isinstance(facts, dict):
        return f"{part}: {facts}"
    counted = ", ".join(f"{facts[name]} {name}" for name in _COUNTED if name in facts)
    digest = f", sha256 {str(facts['sha256'])[:12]}…" if "sha256" in facts else ""
    return f"{part}: {facts.get('file', '?')} ({counted}{digest})"


def _print_features(facts: dict[str, Any], top: int) -> None:
    features = facts["features"]
    if not features:
        return
    rows = [[found["feature"], f"{found['value']:.4g}"] for found in features[:top]]
    print()
    output.print_table(["feature", facts["kind"]], rows, numbers=[1])
    normalization = facts["normalization"] or ""
    scale = "features after rescaling" if "within" in normalization else "features as they come"
    scale += ", or of their logarithms" * ("logarithm" in normalization)
    note = {
        "weight": f"Weights are those of the {scale}, so they depend on the scale of each feature.",
        "importance": "Importances are shares of the total.",
    }
    left = f" {len(features) - top} more features: --top." if len(features) > top else ""
    print(f"{note[facts['kind']]}{left}")
