-- Take one of a spender's places; 0, or the whole seconds to wait where none is free. Nobody waits for anybody: a place
-- that another transaction is taking counts as taken. A place holds one request. Under a ceiling above 1 000 it holds as
-- many as let 120 places make the ceiling, and is free 60 seconds after the last. What was taken a minute or more ahead
-- was taken under another clock, and is free.
CREATE OR REPLACE FUNCTION pcds_take(wanted text, ceiling integer, at timestamptz) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
    span CONSTANT interval := '60 s';
    room CONSTANT integer := CASE WHEN ceiling > 1000 THEN (ceiling + 119) / 120 ELSE 1 END;
    places CONSTANT integer := ceiling / room;
    open_since CONSTANT timestamptz := CASE WHEN room > 1 THEN at - interval '1 s' ELSE 'infinity' END;
    chosen integer;
    held integer;
    oldest timestamptz;
    complete boolean := false;
BEGIN
    LOOP
        IF room > 1 THEN
            -- One of the last second that has room, so that none is left half full; then one that is free; and before
            -- a refusal any that has room, though its first requests then count for longer than their minute: requests
            -- at once and more than a second apart would else take every place with a handful in each.
            SELECT slot.number INTO chosen FROM request_slots AS slot
            WHERE slot.spender = wanted AND slot.number <= places
                AND (slot.taken_at <= at - span OR slot.taken_at >= at + span OR slot.requests < room)
            ORDER BY CASE WHEN slot.taken_at <= at - span OR slot.taken_at >= at + span THEN 1
                          WHEN slot.taken_at > open_since THEN 0 ELSE 2 END,
                slot.taken_at DESC
            LIMIT 1 FOR UPDATE SKIP LOCKED;
        ELSE
            SELECT slot.number INTO chosen FROM request_slots AS slot
            WHERE slot.spender = wanted AND slot.number <= places
                AND (slot.taken_at <= at - span OR slot.taken_at >= at + span)
            LIMIT 1 FOR UPDATE SKIP LOCKED;
        END IF;
        IF FOUND THEN
            UPDATE request_slots AS slot
            SET requests = CASE WHEN room > 1 AND slot.taken_at > at - span AND slot.taken_at < at + span
                                THEN slot.requests + 1 ELSE 1 END,
                taken_at = CASE WHEN slot.taken_at < at + span THEN greatest(slot.taken_at, at) ELSE at END
            WHERE slot.spender = wanted AND slot.number = chosen;
            RETURN 0;
        END IF;
        SELECT count(*), min(slot.taken_at) FILTER (WHERE slot.taken_at > at - span) INTO held, oldest
        FROM request_slots AS slot WHERE slot.spender = wanted AND slot.number <= places;
        -- Places that another made since the look above were not seen by it: look once more before a refusal.
        IF held = places AND complete THEN
            RETURN greatest(1, ceil(extract(epoch FROM coalesce(oldest, at - span) + span - at)));
        END IF;
        complete := held = places;
        IF NOT complete THEN
            INSERT INTO request_slots (spender, number) SELECT wanted, generate_series(1, places) ON CONFLICT DO NOTHING;
        END IF;
    END LOOP;
END $$;
