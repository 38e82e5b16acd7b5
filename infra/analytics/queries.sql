-- Questions about the audit log for Athena, where there are too many records for `oracle audit report`.
-- Database and work group are outputs of the stack (AnalyticsDatabase, AnalyticsWorkGroup). Columns stand in double
-- quotes. "smoke" is true for the sales of the smoke test, which are nobody's, and null for all others. "day" is the
-- day (UTC) on which a record's stream was opened: name it in every WHERE, it decides what is read.

-- Sold and taken back, by day of the first verdict and tier, at the tiers' prices in Canadian dollars. A follow-up is
-- part of its session's sale.
WITH sales AS (
  SELECT
    "session_id",
    max("tier") AS tier,
    min(CASE WHEN "source" = 'webhook' AND "status" = 'OK' THEN substr("timestamp", 1, 10) END) AS sold_on,
    -- The last record decides: a refund that was issued and then failed took nothing back. After a lost dispute the money
    -- is gone, whatever becomes of a refund.
    greatest(
      max(CASE WHEN "change" IN ('dispute_lost', 'dispute_prevented') THEN 1 ELSE 0 END),
      coalesce(max_by(CASE WHEN "step" = 'failed' OR "change" = 'refund_failed' THEN 0 ELSE 1 END, "seq")
        FILTER (WHERE ("event" = 'refund' AND "step" IN ('issued', 'confirmed', 'failed'))
          OR ("event" = 'payment_change' AND "change" IN ('refunded', 'refund_failed'))
          OR ("event" = 'operator' AND "action" = 'refunded by hand')), 0)) AS refunded,
    -- The cents that went back in parts. Parts in another currency cannot be subtracted from a price.
    coalesce(max_by(coalesce("amount_returned", 0), "seq")
      FILTER (WHERE "event" = 'payment_change' AND "change" IN ('partly_refunded', 'refund_failed')
        AND "currency" = 'cad'), 0) AS returned
  FROM "records"
  WHERE "day" >= '2026-11-01' AND "smoke" IS NULL AND "session_id" IS NOT NULL
    AND "session_id" NOT LIKE '%-followup'
  GROUP BY "session_id"
)
SELECT sold_on, tier, count(*) AS sold, sum(refunded) AS refunds,
  sum((1 - refunded) * (CASE tier WHEN 'quick' THEN 1 WHEN 'full' THEN 5 WHEN 'strategy' THEN 25 END - returned / 100.0))
    AS net_cad
FROM sales
WHERE sold_on IS NOT NULL
GROUP BY sold_on, tier
ORDER BY sold_on, tier;

-- Latency by tier and step, in milliseconds.
SELECT "tier", "source", "status", count(*) AS events,
  approx_percentile("latency_ms", 0.50) AS p50,
  approx_percentile("latency_ms", 0.95) AS p95,
  approx_percentile("latency_ms", 0.99) AS p99
FROM "records"
WHERE "day" >= '2026-11-01' AND "smoke" IS NULL AND "event" = 'pipeline'
GROUP BY "tier", "source", "status"
ORDER BY "tier", "source", "status";

-- Where verdicts on the page came from, and what part of them from the cache.
SELECT count_if("source" = 'cache_hit' AND "status" = 'CACHED') AS cache,
  count_if("source" = 'result_page' AND "status" = 'CACHED') AS archive,
  count_if("status" = 'REGENERATED') AS regenerated,
  1.0 * count_if("source" = 'cache_hit' AND "status" = 'CACHED')
    / nullif(count_if("status" IN ('CACHED', 'REGENERATED')), 0) AS cache_ratio
FROM "records"
WHERE "day" >= '2026-11-01' AND "smoke" IS NULL AND "event" = 'pipeline';

-- Mails: accepted, failed, and what part of the attempts failed, by day.
SELECT substr("timestamp", 1, 10) AS at_day,
  count_if("status" = 'EMAIL_SENT') AS sent,
  count_if("status" = 'EMAIL_FAILED') AS failed,
  1.0 * count_if("status" = 'EMAIL_FAILED') / count(*) AS failure_rate
FROM "records"
WHERE "day" >= '2026-11-01' AND "smoke" IS NULL AND "status" IN ('EMAIL_SENT', 'EMAIL_FAILED')
GROUP BY substr("timestamp", 1, 10)
ORDER BY at_day;

-- What the crosscheck said of the model's replies, with how coherent they were.
SELECT "tier", "approved", "crosscheck_reason", count(*) AS runs,
  approx_percentile("coherence_score", 0.50) AS median_score
FROM "records"
WHERE "day" >= '2026-11-01' AND "smoke" IS NULL AND "event" = 'tmm_crosscheck'
GROUP BY "tier", "approved", "crosscheck_reason"
ORDER BY "tier", "approved", runs DESC;

-- The most frequent errors.
SELECT "error_detail", count(*) AS events, max("timestamp") AS last
FROM "records"
WHERE "day" >= '2026-11-01' AND "smoke" IS NULL AND "status" IN ('ERROR', 'EMAIL_FAILED')
GROUP BY "error_detail"
ORDER BY events DESC
LIMIT 20;

-- What the content filter did, by gate and version of its list.
SELECT "gate", "outcome", "list_version", count(*) AS runs
FROM "records"
WHERE "day" >= '2026-11-01' AND "smoke" IS NULL AND "event" = 'content_filter'
GROUP BY "gate", "outcome", "list_version"
ORDER BY "gate", "outcome", "list_version";

-- One sale's story. Its day is in the key of its first record; `oracle show` tells the same without Athena.
SELECT "timestamp", "seq", "event", "source", "status", "error_detail", "details"
FROM "records"
WHERE "day" = '2026-11-21' AND "session_id" = 'cs_live_…'
ORDER BY "seq";

-- The same questions over millions of records: the table hourly has the hourly copies beside the digests, one row of
-- text for each record, and "day" is the day on which the records came in. A first clause takes the fields out that a
-- question needs, under the name of the table above; this one is the question about latency.
WITH records AS (
  SELECT
    "day",
    json_extract_scalar("record", '$.tier') AS tier,
    json_extract_scalar("record", '$.source') AS source,
    json_extract_scalar("record", '$.status') AS status,
    json_extract_scalar("record", '$.event') AS event,
    CAST(json_extract_scalar("record", '$.smoke') AS boolean) AS smoke,
    CAST(json_extract_scalar("record", '$.latency_ms') AS bigint) AS latency_ms
  FROM "hourly"
)
SELECT "tier", "source", "status", count(*) AS events,
  approx_percentile("latency_ms", 0.50) AS p50,
  approx_percentile("latency_ms", 0.95) AS p95,
  approx_percentile("latency_ms", 0.99) AS p99
FROM "records"
WHERE "day" >= '2026-11-01' AND "smoke" IS NULL AND "event" = 'pipeline'
GROUP BY "tier", "source", "status"
ORDER BY "tier", "source", "status";
