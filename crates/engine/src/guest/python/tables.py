"""Tables of pandas and pyarrow as lists of records. Nothing is imported: a table brings its package."""


class TooLarge(ValueError):
    """More values than all output may have bytes."""


class Clash(ValueError):
    """Two names that are one in JSON. One of two values would be lost."""


def clash(names, spelling=str):
    """The first two names that are written alike, and how they are written; None if all differ."""
    first = {}
    for name in names:
        written = spelling(name)
        if written in first:
            return first[written], name, written
        first[written] = name
    return None


def frame(table, most):
    """A list of records. The index is part of them, unless it only counts."""
    _check_size(table.size, "table", most)
    if not _only_counts(table.index):
        table = table.reset_index(allow_duplicates=True) if _has_duplicates(table) else table.reset_index()
    names = _names(table.columns)
    columns = [_without_gaps(table.iloc[:, place]) for place in range(len(names))]
    return [dict(zip(names, row)) for row in zip(*columns)]


def series(values, most):
    """A list, or an object by label where labels mean something and each is there once."""
    _check_size(values.size, "series", most)
    if _only_counts(values.index):
        return _without_gaps(values)
    if values.index.nlevels > 1 or not values.index.is_unique:
        return frame(values.rename("value" if values.name is None else values.name).to_frame(), most)
    return dict(zip(_names(values.index.tolist(), "labels"), _without_gaps(values)))


def _names(given, what="columns"):
    """Names as text. Two that are alike would be one, and the values of the other lost."""
    given = list(given)
    found = clash(given)
    if found is not None:
        one, other, written = found
        raise Clash(f"has the {what} {one!r} and {other!r}, which are both {written!r} in JSON; rename one")
    return list(map(str, given))


def arrow(table, most):
    """A list of records."""
    _check_size(table.num_rows * table.num_columns, "table", most)
    _names(table.column_names)
    return table.to_pylist()


def _check_size(size, what, most):
    # Each item takes a comma and a digit at least.
    if size * 2 > most:
        raise TooLarge(f"is a {what} of {size:,} values, and all output together may be {most:,} bytes")


def _only_counts(index):
    return index.nlevels == 1 and index.name is None and index.dtype.kind in "iu"


def _has_duplicates(frame):
    taken = {name for name in frame.index.names if name is not None} or {"index"}
    return bool(taken.intersection(map(str, frame.columns)))


def _without_gaps(series):
    """What is missing (NaN, NaT, NA) is null in JSON."""
    values = series.tolist()
    return [None if gone else value for gone, value in zip(series.isna().tolist(), values)]
