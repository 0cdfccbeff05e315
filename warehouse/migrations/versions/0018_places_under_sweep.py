"""Lets a caller in who comes while the sweep holds the places of its minute: they are free, none is taken.

A place that another transaction holds is skipped, and counts as taken where a request holds it. The sweep holds places
too, to remove them; so a company's first call after an hour, or its first of all, could be refused with `rate_limited`.
Sweeps take a lock now; before `pcds_take` refuses, it waits until no sweep is under way, and looks again.
"""

from alembic import op

revision = "0018"
down_revision = "0017"

_SWEEP = """
CREATE OR REPLACE FUNCTION pcds_sweep_access(at timestamptz) RETURNS integer
LANGUAGE sql SECURITY DEFINER
SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $$
    SELECT pg_advisory_xact_lock(hashtextextended('pcds/sweep of places', 0));
    WITH tokens AS (DELETE FROM bearer_tokens WHERE expires_at <= at RETURNING 1),
    idle AS (SELECT spender, number FROM request_slots WHERE taken_at <= at - interval '1 hour' FOR UPDATE SKIP LOCKED),
    slots AS (DELETE FROM request_slots WHERE (spender, number) IN (TABLE idle) RETURNING 1)
    SELECT (SELECT count(*) FROM tokens)::integer + (SELECT count(*) FROM slots)::integer
$$
"""
_TAKE = """
CREATE OR REPLACE FUNCTION pcds_take(wanted text, ceiling integer, at timestamptz) RETURNS integer
LANGUAGE plpgsql
AS $$
DECLARE
    since CONSTANT timestamptz := at - interval '60 s';
    until CONSTANT timestamptz := at + interval '60 s';
    room CONSTANT integer := CASE WHEN ceiling > 1000 THEN (ceiling + 119) / 120 ELSE 1 END;
    places CONSTANT integer := ceiling / room;
    sweep CONSTANT bigint := hashtextextended('pcds/sweep of places', 0);
    open_since timestamptz := at - interval '1 s';
    held integer;
    oldest timestamptz;
    complete boolean := false;
BEGIN
    LOOP
        IF room > 1 THEN
            -- One of the last second that has room, so that none is left half full.
            UPDATE request_slots AS slot
            SET requests = slot.requests + 1, taken_at = greatest(slot.taken_at, at)
            WHERE slot.spender = wanted AND slot.number = (
                SELECT place.number FROM request_slots AS place
                WHERE place.spender = wanted AND place.number <= places AND place.requests < room
                    AND place.taken_at > open_since AND place.taken_at < until
                ORDER BY place.taken_at DESC LIMIT 1 FOR UPDATE SKIP LOCKED
            );
            IF FOUND THEN
                RETURN 0;
            END IF;
        END IF;
        UPDATE request_slots AS slot
        SET requests = 1, taken_at = CASE WHEN slot.taken_at < until THEN greatest(slot.taken_at, at) ELSE at END
        WHERE slot.spender = wanted AND slot.number = (
            SELECT place.number FROM request_slots AS place
            WHERE place.spender = wanted AND place.number <= places
                AND (place.taken_at <= since OR place.taken_at >= until)
            LIMIT 1 FOR UPDATE SKIP LOCKED
        );
        IF FOUND THEN
            RETURN 0;
        END IF;
        SELECT count(*), min(slot.taken_at) FILTER (WHERE slot.taken_at > since) INTO held, oldest
        FROM request_slots AS slot WHERE slot.spender = wanted AND slot.number <= places;
        -- Places that another made since the look above were not seen by it, and a sweep may hold free ones: look once
        -- more before a refusal. Then any that has room will do, though its first requests count for longer than their
        -- minute: requests at once and more than a second apart would else take every place with a handful in each.
        IF held = places AND complete THEN
            RETURN greatest(1, ceil(extract(epoch FROM coalesce(oldest, since) - since)));
        END IF;
        complete := held = places;
        IF complete THEN
            open_since := since;
            PERFORM pg_advisory_lock_shared(sweep);
            PERFORM pg_advisory_unlock_shared(sweep);
        ELSE
            INSERT INTO request_slots (spender, number) SELECT wanted, generate_series(1, places)
            ON CONFLICT DO NOTHING;
        END IF;
    END LOOP;
END $$
"""


def upgrade() -> None:
    """Replace both functions."""
    for statement in (_SWEEP, _TAKE):
        op.get_bind().exec_driver_sql(statement)
