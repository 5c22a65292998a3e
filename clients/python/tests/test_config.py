import json

import pytest

from quayside import ConfigurationError
from quayside.config import contexts_file, find_server


@pytest.fixture
def home(tmp_path):
    """The environment of somebody who is signed in to two servers."""
    environment = {"HOME": str(tmp_path)}
    file = contexts_file(environment)
    file.parent.mkdir(parents=True)
    rows = {
        name: {"server": f"https://{name}.example.com", "userName": "ann", "token": f"qs_{name}"}
        for name in ("lab", "home")
    }
    file.write_text(json.dumps({"current": "lab", "contexts": rows}))
    file.chmod(0o600)
    return environment


def test_the_contexts_of_the_command_line_are_used(home):
    assert find_server(environment=home) == ("https://lab.example.com", "qs_lab")
    assert find_server(context="home", environment=home) == ("https://home.example.com", "qs_home")
    assert find_server("home.example.com", environment=home).token == "qs_home"


def test_the_environment_wins_and_arguments_win_over_it(home):
    both = {**home, "QUAYSIDE_SERVER": "localhost:8080", "QUAYSIDE_TOKEN": "qs_env"}
    assert find_server(environment=both) == ("http://localhost:8080", "qs_env")
    assert find_server("https://x.org/ui/", "qs_x", environment=both) == ("https://x.org", "qs_x")
    inside = {**home, "QUAYSIDE_BASE_URL": "https://q.org", "QUAYSIDE_TOKEN": "qs_run"}
    assert find_server(environment=inside) == ("https://q.org", "qs_run")


def test_a_token_of_the_environment_goes_to_no_other_server(home):
    both = {**home, "QUAYSIDE_SERVER": "localhost:8080", "QUAYSIDE_TOKEN": "qs_env"}
    with pytest.raises(ConfigurationError, match=r"No token is known for https://x\.org"):
        find_server("x.org", environment=both)


def test_wrong_configurations_are_explained(home):
    with pytest.raises(ConfigurationError, match="no context 'nope' .*there are: lab, home"):
        find_server(context="nope", environment=home)
    with pytest.raises(ConfigurationError, match="such as https://quayside.example.com"):
        find_server("ftp://x", "t", environment=home)
    with pytest.raises(ConfigurationError, match="You are signed in to no server"):
        find_server(environment={"HOME": "/nowhere"})
    file = contexts_file(home)
    file.chmod(0o644)
    with pytest.raises(ConfigurationError, match="mode is 644"):
        find_server(environment=home)
    file.chmod(0o600)
    file.write_text("[]")
    with pytest.raises(ConfigurationError, match="not a file of contexts"):
        find_server(environment=home)
