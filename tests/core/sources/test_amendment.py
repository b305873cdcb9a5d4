"""Putting settings into a source file without touching what a person wrote."""

import stat
import tomllib

import pytest

from strandline.errors import SpecError
from strandline.sources import amendment, source

BARE = 'connector = "mysql"  # ours\n\n[kafka]\ntopic_prefix = "shop"\n'
HEX = {"binary.handling.mode": "hex"}
BOTH = {**HEX, "decimal.handling.mode": "string"}


@pytest.fixture
def file(tmp_path):
    def write(text, name="shop.toml"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


def settings(path):
    return dict(source.load(path, {source.LAKE_VARIABLE: "."}).default_rules.settings)


@pytest.mark.parametrize(
    "text",
    [
        BARE,
        BARE.rstrip("\n"),
        f"{BARE}# the end",
        f"{BARE}[[table]]\ntopic = 'shop.a'\nname = 'a'\n",
        f"{BARE}\n[settings]\n",
        f"{BARE}\n[settings]",
        f"{BARE}\n[ settings ]   # how it writes\n# nothing yet\n\n[schedule]\nland = '@daily'\n",
        "[settings]\ntime.precision.mode = 'connect'\n[kafka]\ntopic_prefix = 'shop'\n".replace(
            "[settings]", "connector = 'mysql'\n[settings]", 1
        ),
        f"{BARE}[settings]\n'decimal.handling.mode' = 'string'\n",
        f'{BARE}placeholder = """\n[settings]\n"""\n'.replace("placeholder", "connection"),
        f"{BARE}[settings.time.precision]\nmode = 'connect'\n",
        "\ufeff" + BARE,
        BARE.replace("\n", "\r\n"),
        BARE.replace("\n", "\r\n") + "[settings]\r\n",
    ],
)  # fmt: skip
def test_what_is_missing_is_added_and_nothing_that_was_there_is_lost(text, file):
    path = file(text)
    before = tomllib.loads(text.removeprefix("\ufeff"))
    had = dict(settings(path))
    amendment.amend(path, BOTH)
    after = path.read_bytes().decode()
    assert settings(path) == {**had, **BOTH}
    rest = tomllib.loads(after.removeprefix("\ufeff"))
    assert {k: v for k, v in rest.items() if k != "settings"} == {
        k: v for k, v in before.items() if k != "settings"
    }
    kept = iter(after.splitlines())
    assert all(line in kept for line in text.splitlines())
    assert ("\r\n" in text) == ("\r\n" in after)
    assert after.count("\n") - after.count("\r\n") == 0 or "\r\n" not in text


def test_the_lines_that_were_added_are_given(file):
    path = file(f"{BARE}[settings]\ndecimal.handling.mode = 'string'\n")
    assert amendment.amend(path, BOTH) == ('binary.handling.mode = "hex"',)


def test_a_file_that_says_it_all_is_not_written(file):
    path = file(f"{BARE}[settings]\nbinary.handling.mode = 'hex'\n")
    before = path.stat()
    assert amendment.amend(path, HEX) == ()
    assert path.stat().st_ino == before.st_ino


def test_base64_is_another_word_for_bytes(file):
    path = file(f"{BARE}[settings]\nbinary.handling.mode = 'base64'\n")
    assert amendment.amend(path, {"binary.handling.mode": "bytes"}) == ()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"{BARE}[settings]\nbinary.handling.mode = 'bytes'\n", "change it by hand"),
        (f"settings = {{ time.precision.mode = 'connect' }}\n{BARE}", "add by hand"),
        (f"settings.time.precision.mode = 'connect'\n{BARE}", "add by hand"),
        ("connector = 'mysql'\n", "topic_prefix"),
        ("connector = ", "not valid TOML"),
        ("connector = 'nothing'\n", "unknown connector"),
    ],
)
def test_where_nothing_can_be_put_in_safely_the_file_stays_as_it_is(text, told, file):
    path = file(text)
    with pytest.raises(SpecError, match=told):
        amendment.amend(path, HEX)
    assert path.read_bytes() == text.encode()
    assert [each.name for each in path.parent.iterdir()] == ["shop.toml"]


def test_the_mode_of_the_file_and_a_link_to_it_stay(file, tmp_path):
    path = file(BARE)
    path.chmod(0o640)
    link = tmp_path / "linked.toml"
    link.symlink_to(path)
    amendment.amend(link, HEX)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert settings(path) == HEX


def test_a_folder_that_takes_no_file_is_told(file, monkeypatch):
    path = file(BARE)
    monkeypatch.setattr("tempfile.mkstemp", lambda **_: (_ for _ in ()).throw(PermissionError(13)))
    with pytest.raises(SpecError, match="cannot be written"):
        amendment.amend(path, HEX)
    assert path.read_text() == BARE
