import pytest
from IPython.core.interactiveshell import InteractiveShell

from quayside._terminal import printable, printable_output


@pytest.fixture
def shell():
    made = InteractiveShell.instance()
    made.run_line_magic("load_ext", "quayside")
    return made


def test_the_magic_starts_lists_shows_logs_and_stops(shell, capsys, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    run = shell.run_line_magic("quayside", "start Fit")
    assert run.refresh()["State"] == "ready"
    shell.run_line_magic("quayside", "ls")
    shell.run_line_magic("quayside", "logs Fit 10")
    assert shell.run_line_magic("quayside", f"open {run.id}").endswith(f"/open?ID={run.id}")
    assert len(opened) == 1
    shell.run_line_magic("quayside", "stop Fit")
    printed = capsys.readouterr().out
    assert f"{run.id:>6}  Fit" in printed and "fake/http started" in printed
    assert run.refresh()["State"] == "ended"
    with pytest.raises(LookupError, match="no live run of a project 'Fit'"):
        shell.run_line_magic("quayside", "stop Fit")


def test_output_and_names_of_others_do_not_command_the_terminal():
    red = "\x1b[31mred\x1b[0m"
    assert printable_output(f"a\tb {red}") == f"a\tb {red}\x1b[0m"
    for command in ("\x1b]52;c;ZXZpbA==\x07", "\x1b[2J", "\x1bc", "\x9b", "\x07", "\x1b]0;t\x1b\\"):
        assert printable_output(f"x{command}y") == "xy"
    assert printable("a\x1b[2Jb\u202ec") == "a [2Jb c"


def test_wrong_words_print_the_usage(shell, capsys):
    shell.run_line_magic("quayside", "begin Fit")
    assert "%quayside start PROJECT" in capsys.readouterr().out
