import socket
import time

import numpy as np
import pytest

from kinhash import Codes
from kinhash.engines import postgres as engine
from kinhash.engines.layout import Layout
from kinhash.engines.stores import _Addition
from kinhash.errors import InvalidInputError, UntestedVersionWarning

psycopg = pytest.importorskip("psycopg")

CODES = Codes.from_dense(np.eye(8))


@pytest.fixture
def url(postgres):
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS own CASCADE")
        connection.execute("CREATE SCHEMA own")
    return f"{postgres}?options=-csearch_path%3Down"


@pytest.fixture
def nobody():
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        yield free.getsockname()[1]


def test_a_server_that_is_down_is_tried_a_few_times_and_told_without_the_password(nobody):
    start = time.monotonic()
    with pytest.raises(InvalidInputError) as caught:
        engine.open_store(f"postgresql://me:s3cret@127.0.0.1:{nobody}/db", Layout(8), attempts=3)
    assert time.monotonic() - start > 0.3  # 0.1 and 0.2 between them
    message = str(caught.value)
    assert message.startswith(f"PostgreSQL at 127.0.0.1:{nobody} cannot be used after 3 attempts:")
    assert "refused" in message
    assert "s3cret" not in message
    assert "\n" not in message
    assert caught.value.__cause__ is None


def test_a_wrong_password_is_tried_once_and_never_told(postgres):
    wrong = postgres.replace(":", ":wr0ng", 2).replace("wr0ng//", "//", 1)
    with pytest.raises(
        InvalidInputError, match="cannot be used: password authentication"
    ) as caught:
        engine.open_store(wrong, Layout(8))
    assert "wr0ng" not in str(caught.value)


def test_a_url_that_is_none_is_refused_without_showing_it():
    with pytest.raises(InvalidInputError, match="`url` must be like postgresql://") as caught:
        engine.open_store("postgres//me:s3cret@host", Layout(8))
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None


def end_backends(url):
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )


def test_a_dropped_connection_is_made_again(url):
    with engine.open_store(url, Layout(8)) as store:
        store.add(CODES[:4])
        end_backends(url)
        assert store.search_radius(CODES[:1], 0).ids.tolist() == [0]
        end_backends(url)
        store.add(CODES[4:], range(4, 8))
        assert len(store) == 8


def test_items_are_added_once_even_if_the_answer_to_the_commit_is_lost(url):
    with engine.open_store(url, Layout(8)) as store:
        columns = [np.arange(8), *store.layout.arrays(CODES).values()]
        lost = []

        class Addition(_Addition):
            def __call__(self, on):
                super().__call__(on)
                if not lost:
                    lost.append(True)
                    on._connection.execute("COMMIT")
                    end_backends(url)
                    on._connection.execute("SELECT 1")

        store._session.run(Addition(store.layout, "postgres", columns))
        assert lost
        assert len(store) == 8


def test_a_connection_that_keeps_dropping_is_given_up(url):
    with engine.open_store(url, Layout(8), attempts=2) as store:

        def work(on):
            end_backends(url)
            on.rows("SELECT 1")

        with pytest.raises(InvalidInputError, match="cannot be used after 2 attempts: terminating"):
            store._session.run(work)


def test_what_the_server_refuses_is_one_sentence(url):
    with engine.open_store(url, Layout(8)) as store:
        store._session.run(lambda on: on.rows("DROP TABLE kinhash_keys"))
        with pytest.raises(
            InvalidInputError, match=r'PostgreSQL at .*"kinhash_keys" does not exist'
        ):
            store.search_radius(CODES, 1)


def test_an_untested_version_warns(url, monkeypatch):
    monkeypatch.setattr(engine, "TESTED", ("9", "9"))
    with pytest.warns(UntestedVersionWarning, match=r"PostgreSQL 1\d.\d+ has not been tested"):
        engine.open_store(url, Layout(8)).close()


def test_a_query_probes_indexes_only(url, rng):
    dense = np.zeros((5000, 64))
    for row in dense:
        row[rng.choice(64, 5, replace=False)] = 1
    codes = Codes.from_dense(dense)
    with engine.open_store(url, Layout(64)) as store:
        store.add(codes)
        from kinhash.engines import lookups

        for radius in (0, 1, 2):
            text = lookups.query(Layout(64), radius=radius).replace("$1", "5")
            plan = "\n".join(
                row[0] for row in store._session.run(lambda on, t=text: on.rows(f"EXPLAIN {t}"))
            )
            for table in ("codes", "keys", "items"):
                assert f"Seq Scan on kinhash_{table}" not in plan, plan
