"""Which code was measured."""

import subprocess
from pathlib import Path


def commit() -> str:
    """The commit that is checked out, with a `+` where files differ from it, but for results."""
    git = ["git", "-C", str(Path(__file__).parent)]
    try:
        found = subprocess.run(
            [*git, "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
        )
        code = ("--", ":/", ":(exclude,top)bench/results")
        changed = subprocess.run([*git, "diff", "--quiet", "HEAD", *code], check=False)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return found.stdout.strip() + ("+" if changed.returncode else "")
