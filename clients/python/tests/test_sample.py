import json
from pathlib import Path

import fsspec
from IPython.core.interactiveshell import InteractiveShell

SAMPLE = Path(__file__).parents[3] / "samples/penguins"


def test_the_notebook_of_the_sample_reads_the_dataset_and_starts_the_project(capsys):
    fsspec.filesystem("quayside").put(str(SAMPLE / "penguins.csv"), "data/penguins/penguins.csv")
    notebook = json.loads((SAMPLE / "penguins-from-python.ipynb").read_text())
    shell = InteractiveShell.instance()
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            shell.run_cell("".join(cell["source"])).raise_error()
    assert "Gentoo" in str(shell.user_ns["penguins"]["species"].unique())
    assert "fake/http started" in capsys.readouterr().out
