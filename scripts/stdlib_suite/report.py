"""The table of both sides, and what differs."""


def outcome(result):
    if result is None:
        return "not run"
    if "ended" in result:
        return f"{result['ended'].splitlines()[0][:40]} ({result['ran']} begun)"
    bad = len(result["failed"])
    if bad:
        return f"{bad} of {result['ran']} failed"
    return f"ok ({result['ran']})" if result["ran"] > len(result["skipped"]) else "skipped"


def worse(outside, inside):
    """Tests that fail inside and do not outside, with the reason."""
    found = {name: why for name, why in inside["failed"].items() if name not in outside["failed"]}
    if "ended" in inside and "ended" not in outside:
        found[f"ended during {inside['during']}"] = inside["ended"]
    return found


def left_out(outside, inside):
    """Tests that run outside and skip themselves inside."""
    if "ended" in inside or "ended" in outside:
        return {}
    return {name: why for name, why in inside["skipped"].items() if name not in outside["skipped"]}


def table(results, everything):
    lines = [("module", "outside", "inside", "fails inside only")]
    for module, sides in results.items():
        outside, inside = sides.get("outside"), sides.get("inside")
        new = worse(outside, inside) if outside and inside else {}
        if everything or new:
            names = [name.rsplit(" ", 1)[0] if name.endswith(")") else name for name in new]
            shown = ", ".join(".".join(name.split(".")[-2:]) for name in names[:4])
            lines.append(
                (
                    module,
                    outcome(outside),
                    outcome(inside),
                    shown + (f", {len(new) - 4} more" if len(new) > 4 else ""),
                )
            )
    widths = [max(len(line[column]) for line in lines) for column in range(3)]
    for line in lines:
        yield "  ".join([line[column].ljust(widths[column]) for column in range(3)] + [line[3]]).rstrip()


def totals(results):
    both = [
        (module, sides["outside"], sides["inside"]) for module, sides in results.items() if len(sides) == 2
    ]

    def clean(side):
        return sum(
            not result["failed"] and "ended" not in result for _, *pair in both for result in [pair[side]]
        )

    def tests(side):
        return sum(pair[side]["ran"] for _, *pair in both)

    def fails(side):
        return sum(len(pair[side]["failed"]) for _, *pair in both)

    def skips(side):
        return sum(len(pair[side]["skipped"]) for _, *pair in both)

    yield f"{len(both)} modules on both sides"
    for side, name in enumerate(("outside", "inside")):
        yield f"{name:8} {tests(side)} tests, {fails(side)} failed, {skips(side)} skipped; {clean(side)} modules without failure"
    yield f"fail inside only: {sum(len(worse(outside, inside)) for _, outside, inside in both)} tests"
    yield f"skipped inside only: {sum(len(left_out(outside, inside)) for _, outside, inside in both)} tests"


def details(results):
    """One line a difference, for whoever looks for the reason."""
    for module, sides in results.items():
        if len(sides) < 2:
            continue
        for name, why in worse(sides["outside"], sides["inside"]).items():
            yield f"FAILS   {module}: {name}: {why}"
        for name, why in left_out(sides["outside"], sides["inside"]).items():
            yield f"SKIPPED {module}: {name}: {why}"
