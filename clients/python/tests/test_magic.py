import pytest
from IPython.core.interactiveshell import InteractiveShell


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


def test_wrong_words_print_the_usage(shell, capsys):
    shell.run_line_magic("quayside", "begin Fit")
    assert "%quayside start PROJECT" in capsys.readouterr().out
