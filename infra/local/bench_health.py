"""What one look of cache-health costs at several sizes of the cache, on a running stack: one JSON object a line.

Fills the table with cached verdicts (through the index of ages and the counters, as sales do), lets the function look, and
tells the milliseconds that the caller waited and the read units of the very requests a look makes.

`bench_health.py --dynamodb URL 100 10000 1000000` needs no stack: it makes the same requests of any DynamoDB that reads
an index as one, Amazon's DynamoDB Local for instance, in a table of its own, and tells their milliseconds and read units.
"""

import json
import random
import statistics
import sys
import time

import boto3
from botocore.config import Config

RUNS = 3
DAY_MS = 86_400_000


def fill(table, batch_write, first, last, document):
    """Puts entries first to last - 1, spread over the last 29 days."""
    now = int(time.time() * 1000)
    for start in range(first, last, 25):
        requests = []
        for number in range(start, min(start + 25, last)):
            session = f"cs_test_bench{number:08}"
            stored = now - random.randrange(29 * DAY_MS)
            requests.append({"PutRequest": {"Item": {
                "pk": {"S": f"SESSION#{session}"}, "sk": {"S": "VERDICT"}, "document": {"S": document},
                "bytes": {"N": str(len(document))}, "cached": {"S": "VERDICT"}, "place": {"S": f"{stored:016}#{session}"},
            }}})
        batch_write(RequestItems={table: requests})


def read_units(dynamodb, table, entries):
    """The units of a look's reads, request by request as the function makes them."""
    units = 0.0

    def query(**more):
        nonlocal units
        reply = dynamodb.query(TableName=table, ReturnConsumedCapacity="TOTAL", **more)
        units += reply["ConsumedCapacity"]["CapacityUnits"]
        return reply["Items"]

    def index(after, limit, forward=True):
        return query(
            IndexName="ages", KeyConditionExpression="#c = :c AND #p > :a", Limit=limit, ScanIndexForward=forward,
            ExpressionAttributeNames={"#c": "cached", "#p": "place"},
            ExpressionAttributeValues={":c": {"S": "VERDICT"}, ":a": {"S": after}},
        )

    query(KeyConditionExpression="pk = :pk", ExpressionAttributeValues={":pk": {"S": "CACHE"}}, ConsistentRead=True)
    index("-", 1)
    index("-", 1, False)
    now = int(time.time() * 1000)
    size = min(entries, 10 if entries <= 10_000 else max(10, min(50, -(-entries // 1000))))
    points = 10
    drawn = set()
    for _ in range(points):
        near = index(f"{now - random.randrange(28 * DAY_MS):016}", 20)
        drawn.update(item["pk"]["S"] for item in random.sample(near, min(len(near), -(-size // points))))
    keys = [{"pk": {"S": pk}, "sk": {"S": "VERDICT"}} for pk in drawn]
    reply = dynamodb.batch_get_item(RequestItems={table: {"Keys": keys}})
    # The emulator tells no units of a batch: half a unit for each 4 KB begun of each item.
    return units + sum(0.5 * -(-len(json.dumps(item)) // 4096) for item in reply["Responses"][table])


def verdict():
    """A cached verdict of a Full Breakdown's length."""
    summary = {"verdict": "GREEN", "summary": "Yes. " * 600}
    return json.dumps({"tier": "full", "query": "q", "verdict": summary, "cached_at": "2026-04-16T00:00:00.000Z"})


def reads_only(url, sizes):
    """The requests of a look, timed, against a table that is made for it and removed after."""
    config = Config(retries={"max_attempts": 1}, read_timeout=300)
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name="us-east-1")
    dynamodb = session.client("dynamodb", endpoint_url=url, config=config)
    table = f"bench-health-{int(time.time())}"
    keys = lambda *names: [{"AttributeName": name, "KeyType": kind} for name, kind in zip(names, ("HASH", "RANGE"))]
    projection = {"ProjectionType": "INCLUDE", "NonKeyAttributes": ["bytes"]}
    dynamodb.create_table(
        TableName=table, BillingMode="PAY_PER_REQUEST", KeySchema=keys("pk", "sk"),
        AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in ("pk", "sk", "cached", "place")],
        GlobalSecondaryIndexes=[{"IndexName": "ages", "KeySchema": keys("cached", "place"), "Projection": projection}],
    )
    dynamodb.get_waiter("table_exists").wait(TableName=table)
    try:
        dynamodb.put_item(TableName=table, Item={"pk": {"S": "CACHE"}, "sk": {"S": "TOTALS#0"}, "entries": {"N": "0"}})
        filled = 0
        for size in sizes:
            fill(table, dynamodb.batch_write_item, filled, size, verdict())
            filled = size
            looks = []
            for _ in range(3 * RUNS):
                begun = time.monotonic()
                units = read_units(dynamodb, table, size)
                looks.append(((time.monotonic() - begun) * 1000, units))
            took, units = (statistics.median(column) for column in zip(*looks))
            print(json.dumps({"name": f"health/{size}/requests", "value": round(took, 1), "unit": "ms", "runs": len(looks)}))
            print(json.dumps({"name": f"health/{size}/reads", "value": units, "unit": "read units per look"}), flush=True)
    finally:
        dynamodb.delete_table(TableName=table)


def main():
    if sys.argv[1] == "--dynamodb":
        reads_only(sys.argv[2], [int(size) for size in sys.argv[3:]] or [100, 10_000, 1_000_000])
        return
    with open(sys.argv[1], encoding="utf-8") as file:
        stack = json.load(file)
    sizes = [int(size) for size in sys.argv[2:]] or [100, 10_000]
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=stack["region"])
    config = Config(retries={"max_attempts": 1}, read_timeout=300)
    dynamodb, functions = (
        session.client(name, endpoint_url=stack["aws_endpoint"], config=config) for name in ("dynamodb", "lambda")
    )
    table, function = stack["outputs"]["TableName"], stack["outputs"]["CacheHealthFunctionName"]
    document = verdict()
    filled = 0
    for size in sizes:
        fill(table, dynamodb.batch_write_item, filled, size, document)
        dynamodb.update_item(
            TableName=table, Key={"pk": {"S": "CACHE"}, "sk": {"S": "TOTALS#0"}},
            UpdateExpression="ADD #e :e, #b :b, #c :e", ExpressionAttributeNames={"#e": "entries", "#b": "bytes", "#c": "changes"},
            ExpressionAttributeValues={":e": {"N": str(size - filled)}, ":b": {"N": str((size - filled) * len(document))}},
        )
        filled = size
        waits = []
        for _ in range(RUNS):
            begun = time.monotonic()
            reply = functions.invoke(FunctionName=function, Payload=b'{"look":"now"}')
            if "FunctionError" in reply:
                raise SystemExit(reply["Payload"].read().decode())
            waits.append((time.monotonic() - begun) * 1000)
        units = statistics.median(read_units(dynamodb, table, size) for _ in range(RUNS))
        print(json.dumps({"name": f"health/{size}/wait", "value": round(statistics.median(waits), 1), "unit": "ms", "runs": RUNS}))
        print(json.dumps({"name": f"health/{size}/reads", "value": units, "unit": "read units per look"}), flush=True)


if __name__ == "__main__":
    main()
