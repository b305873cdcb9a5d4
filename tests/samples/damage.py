"""Damage to a data file of a lake; each gives back what mends it."""


def gone(file):
    kept = file.with_suffix(".kept")
    file.rename(kept)
    return lambda: kept.rename(file)


def corrupt(file):
    content = file.read_bytes()
    checksum = file.with_name(f".{file.name}.crc")
    checksum.unlink(missing_ok=True)  # which landing does not write
    file.write_bytes(bytes(len(content)))
    return lambda: file.write_bytes(content)
