import asyncio

import pytest

import quayside


def test_the_asynchronous_client_starts_works_and_stops():
    async def work():
        async with quayside.AsyncClient() as client:
            async with await client.start("Fit") as run:
                lines = [line["text"] async for line in run.logs()]
                assert lines == ["fake/http started, port 8000"]
                assert (await run.exec(["echo", "hello"])).text == "hello\n"
            assert (await run.refresh())["State"] == "ended"
            assert [each["ProjectName"] async for each in client.pages(client.list_projects)]

    asyncio.run(work())


def test_a_cancelled_start_stops_the_run(client):
    async def work():
        async with quayside.AsyncClient() as other:
            await asyncio.wait_for(other.start("Silent"), timeout=1)

    with pytest.raises(TimeoutError):
        asyncio.run(work())
    assert client.runs() == []


def test_asynchronous_events_are_an_iterator(client):
    async def work():
        async with quayside.AsyncClient() as other:
            events = other.events()
            first = asyncio.ensure_future(anext(events))
            await asyncio.sleep(0.3)
            made = await other.create_data({"Name": "seen", "Type": "dir"})
            event = await first
            await events.aclose()
            await other.delete_data(made["ID"])
            return event, made

    event, made = asyncio.run(work())
    assert (event["event"], event["data"]["ID"]) == ("data.created", made["ID"])
