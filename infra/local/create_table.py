"""Creates the table of template.yaml on a running emulator, for a benchmark that needs no function of a stack:
`create_table.py ENDPOINT REGION NAME`.
"""

import sys
from pathlib import Path

import boto3
import yaml

from deploy import TemplateLoader

USED = ("AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "BillingMode")


def main():
    endpoint, region, name = sys.argv[1:]
    with open(Path(__file__).parents[2] / "template.yaml", encoding="utf-8") as file:
        properties = yaml.load(file, TemplateLoader)["Resources"]["Table"]["Properties"]
    session = boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=region)
    dynamodb = session.client("dynamodb", endpoint_url=endpoint)
    dynamodb.create_table(TableName=name, **{key: properties[key] for key in USED})
    dynamodb.get_waiter("table_exists").wait(TableName=name)


if __name__ == "__main__":
    main()
