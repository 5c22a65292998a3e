"""The server, in `QUAYSIDE_SERVER` and `QUAYSIDE_TOKEN`, has projects and a dataset for tests."""

from collections.abc import Iterator

import pytest

import quayside


@pytest.fixture(scope="session")
def client() -> Iterator[quayside.Client]:
    with quayside.connect() as connected:
        yield connected
