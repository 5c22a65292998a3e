import os
import threading

import pytest

import quayside


def test_a_run_stops_at_the_end_of_its_block(client, capsys):
    with quayside.start("Fit", cpus=1, memory="0.5 GiB", progress=True) as run:
        assert run.state == "ready" and run.url.startswith("http")
        assert run.info["Memory"] == 512
        assert [line["text"] for line in run.logs()] == ["fake/http started, port 8000"]
        assert set(run.stats()) >= {"now", "series", "marks"}
        assert [each.id for each in client.runs()] == [run.id]
    assert run.refresh()["State"] == "ended"
    assert "ready" in capsys.readouterr().err


def test_a_kept_run_outlives_its_block_and_its_logs_end_with_it(client):
    with client.start("Fit", keep=True) as run:
        pass
    assert run.refresh()["State"] == "ready"
    lines = run.logs(follow=True)
    assert next(lines)["text"] == "fake/http started, port 8000"
    stopper = threading.Timer(0.2, run.stop)
    stopper.start()
    list(lines)
    stopper.join()
    assert run.refresh()["State"] == "ended"


def test_a_run_that_fails_raises_its_reason(client):
    with pytest.raises(quayside.RunFailed) as caught:
        client.start("Broken")
    assert caught.value.code == "exited" and caught.value.run_id > 0
    assert caught.value.hint in str(caught.value.__notes__)


def test_an_interrupted_start_stops_the_run(client):
    def interrupt(run):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.start("Fit", progress=interrupt)
    assert client.runs() == []


def test_programs_run_in_the_run(client):
    with client.start("Fit") as run:
        assert run.exec(["echo", "hello"]).text == "hello\n"
        assert run.exec(["warn", "oh"]).stderr == b"oh\n"
        assert run.exec(["exit", "3"]).exit_code == 3
        large = os.urandom(1 << 20)
        assert run.exec(["cat"], stdin=large).stdout == large
        assert "A=b" in run.exec(["env"], env={"A": "b"}).text
        with pytest.raises(quayside.APIError) as caught:
            run.exec(["no-such-program"])
        assert caught.value.code == "command_not_found"
        with pytest.raises(ValueError, match="must be a list"):
            run.exec("ls -l")


def test_output_of_a_program_arrives_while_it_runs(client):
    with client.start("Fit") as run:
        pieces = []
        result = run.exec(
            ["sh", "-c", "echo out; warn err; exit 3"],
            on_output=lambda *piece: pieces.append(piece),
        )
        assert sorted(pieces) == [("stderr", b"err\n"), ("stdout", b"out\n")]
        assert result == quayside.ExecResult(3, b"", b"")

        def refuse(_name, _data):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            run.exec(["sh", "-c", "echo begun; sleep 600"], on_output=refuse)


def test_refusals_are_exceptions_with_code_message_and_field(client):
    with pytest.raises(quayside.NotFound) as hidden:
        client.read_image(ID=99_999)
    assert (hidden.value.status, hidden.value.code) == (404, "not_found")
    with pytest.raises(quayside.APIError, match="jupyterlab") as wrong:
        client.create_project({"ProjectName": "x", "Type": "nope", "ImageID": 1})
    assert (wrong.value.status, wrong.value.code, wrong.value.field) == (400, "invalid", "Type")
    with pytest.raises(quayside.Unauthorized), quayside.Client(client.url, "qs_wrong") as other:
        other.whoami()
    with pytest.raises(quayside.ConnectionFailed), quayside.Client("localhost:9", "x") as nobody:
        nobody.whoami()


def test_names_are_exact_and_memory_has_units(client):
    with pytest.raises(LookupError, match="You can see no project 'fit'"):
        client.start("fit")
    with pytest.raises(ValueError, match="memory must be .*\"4 GiB\"; got 'much'"):
        client.start("Fit", memory="much")


def test_lists_have_all_pages(client):
    for number in range(3):
        client.create_data({"Name": f"page-{number}", "Type": "dir"})
    found = client.pages(client.list_data, q="page-", sort="Name")
    assert [each["Name"] for each in found] == ["page-0", "page-1", "page-2"]
    first = client.list_data(q="page-", sort="Name", pageSize=2)
    assert (len(first["data"]), first["pageCount"]) == (2, 2)
    for each in list(client.pages(client.list_data, q="page-")):
        client.delete_data(each["ID"])


def test_events_go_on_after_the_last_one(client):
    created = []

    def create():
        created.extend(
            client.create_data({"Name": f"event-{n}", "Type": "dir"})["ID"] for n in range(2)
        )

    threading.Timer(0.3, create).start()
    first = next(event for event in client.events() if event["event"] == "data.created")
    second = next(client.events(after=first["id"]))
    assert [first["data"]["ID"], second["data"]["ID"]] == created
    for each in created:
        client.delete_data(each)
