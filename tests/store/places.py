"""Every occurrence of a term, the slow and plain way."""


def places_of(snapshot, term):
    """Document number and byte of each occurrence in live documents, sorted."""
    found = []
    for segment, positions in zip(snapshot.segments(), snapshot.places(term), strict=True):
        bases, _, documents, starts = segment.extents
        for position in positions.tolist():
            at = int(bases.searchsorted(position, side="right")) - 1
            found.append((int(documents[at]), position - int(bases[at]) + int(starts[at])))
    return sorted(found)
