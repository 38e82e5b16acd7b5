"""Packages the functions and deploys template.yaml to the local emulator.

Reads one JSON object from standard input:
  {"endpoint", "region", "stack", "template", "work_dir", "parameters": {…}, "secrets": {name: document},
   "binaries": {name: path}, "unscheduled": whether no function runs by its schedule}
Does what `sam package` and `aws cloudformation deploy` do on AWS: one zip per function (the same bytes for the same
binary, uploaded only when new), CodeUri pointing at it, a change set, and a wait; then what `oracle secrets set` does
there: the secrets, which a deployment creates empty, get their values. Progress goes to standard error, the
stack's outputs as JSON to standard output. An archive left in work_dir is used again while its binary is the same.
The file has more than 300 lines because it is one script that runs on its own, and each difference between AWS and the
emulator has its own function.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
import zipfile

import boto3
import yaml
from botocore.config import Config
from botocore.exceptions import ClientError, WaiterError

ARTIFACTS = "deployment-artifacts"
CAPABILITIES = ["CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"]


class TemplateLoader(yaml.SafeLoader):
    """YAML with CloudFormation's short tags, read into their long form."""


def _intrinsic(loader, suffix, node):
    name = suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
        return {name: value.split(".", 1) if suffix == "GetAtt" else value}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    return {name: loader.construct_mapping(node, deep=True)}


TemplateLoader.add_multi_constructor("!", _intrinsic)


def say(message):
    print(message, file=sys.stderr, flush=True)


def archive(name, binary, work_dir):
    """The zip of one function's binary, stripped of debug information, as (path, content hash)."""
    status = os.stat(binary)
    stamp = f"{status.st_size} {status.st_mtime_ns}"
    zip_path = os.path.join(work_dir, f"{name}.zip")
    stamp_path = zip_path + ".stamp"
    if os.path.exists(stamp_path) and os.path.exists(zip_path):
        with open(stamp_path) as file:
            known_stamp, digest = file.read().split("\n")
        if known_stamp == stamp:
            return zip_path, digest
    with tempfile.TemporaryDirectory(dir=work_dir) as scratch:
        copy = os.path.join(scratch, "bootstrap")
        shutil.copyfile(binary, copy)
        if shutil.which("strip"):
            subprocess.run(["strip", copy], check=True)
        with open(copy, "rb") as file:
            code = file.read()
    digest = hashlib.sha256(code).hexdigest()
    entry = zipfile.ZipInfo("bootstrap", date_time=(1980, 1, 1, 0, 0, 0))
    entry.external_attr = 0o100755 << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(zip_path, "w") as target:
        target.writestr(entry, code, compresslevel=1)
    with open(stamp_path, "w") as file:
        file.write(f"{stamp}\n{digest}")
    return zip_path, digest


def of_type(template, wanted):
    """Every resource of a type; what loops make is not among them, the emulator expands those."""
    resources = template["Resources"].items()
    return [(name, resource) for name, resource in resources if isinstance(resource, dict) and resource["Type"] == wanted]


def without_what_cannot_be_met(template):
    """Leaves out what bucket policies demand and the emulator, which enforces them, cannot see: it speaks plain HTTP,
    and does not know whether a write is conditional."""
    resources = template["Resources"]
    for logical_id, resource in of_type(template, "AWS::S3::BucketPolicy"):
        statements = resource["Properties"]["PolicyDocument"]["Statement"]
        statements[:] = [it for it in statements if it.get("Sid") not in ("TlsOnly", "WrittenOnce")]
        if not statements:
            del resources[logical_id]


def without_traffic_shifts(template):
    """Leaves out the aliases of functions, which CodeDeploy moves and the emulator has no CodeDeploy for: a new version
    takes over at once, and what waits for an alias waits for its function. Each is called version 1."""
    for _, resource in of_type(template, "AWS::Serverless::Function"):
        for name in ("AutoPublishAlias", "AutoPublishAliasAllProperties", "DeploymentPreference", "VersionDeletionPolicy"):
            resource["Properties"].pop(name, None)
        if "DependsOn" in resource:
            resource["DependsOn"] = [name.removesuffix("Aliaslive") for name in resource["DependsOn"]]
    for section in ("Resources", "Outputs"):
        template[section] = with_first_versions(template[section])


def with_first_versions(value):
    """The value with "1" in place of the number of a version that SAM publishes with an alias."""
    if isinstance(value, list):
        return [with_first_versions(inner) for inner in value]
    if not isinstance(value, dict):
        return value
    attribute = value.get("Fn::GetAtt")
    if isinstance(attribute, list) and attribute[1] == "Version.Version":
        return "1"
    return {name: with_first_versions(inner) for name, inner in value.items()}


def with_numeric_concurrency(template, parameters):
    """Puts the numbers of parameters into event source mappings: the emulator passes a parameter on as text, and its
    poller compares text with a number and stops."""
    for _, resource in of_type(template, "AWS::Serverless::Function"):
        for event in resource["Properties"].get("Events", {}).values():
            scaling = event.get("Properties", {}).get("ScalingConfig", {})
            limit = scaling.get("MaximumConcurrency")
            if isinstance(limit, dict):
                name = limit["Ref"]
                scaling["MaximumConcurrency"] = int(parameters.get(name, template["Parameters"][name]["Default"]))


def without_schedules(template):
    """Disables all schedules: a function runs when it is invoked, and at no other time."""
    for _, resource in of_type(template, "AWS::Serverless::Function"):
        for event in resource["Properties"].get("Events", {}).values():
            if event["Type"] == "Schedule":
                event["Properties"]["State"] = "DISABLED"


def with_plain_alarms(value):
    """Puts the first metric in place of an alarm's metric math, which the emulator refuses; it evaluates no alarm."""
    if isinstance(value, list):
        for inner in value:
            with_plain_alarms(inner)
    if not isinstance(value, dict):
        return
    if value.get("Type") == "AWS::CloudWatch::Alarm" and "Metrics" in value["Properties"]:
        properties = value["Properties"]
        first = next(metric["MetricStat"] for metric in properties.pop("Metrics") if "MetricStat" in metric)
        properties.update(first["Metric"], Period=first["Period"], Statistic=first["Stat"])
        return
    for inner in value.values():
        with_plain_alarms(inner)


def upload(s3, zip_path, key):
    """Puts the archive under its content hash; True when it was not there yet."""
    try:
        s3.head_object(Bucket=ARTIFACTS, Key=key)
        return False
    except ClientError:
        s3.upload_file(zip_path, ARTIFACTS, key)
        return True


def package(template, binaries, work_dir, s3):
    """Points every function's CodeUri at its uploaded archive."""
    global_code = template.get("Globals", {}).get("Function", {})
    global_code.pop("CodeUri", None)
    try:
        s3.create_bucket(Bucket=ARTIFACTS)
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("BucketAlreadyOwnedByYou", "BucketAlreadyExists"):
            raise
    new = 0
    for logical_id, resource in of_type(template, "AWS::Serverless::Function"):
        name = resource["Metadata"]["BuildProperties"]["Binary"]
        if name not in binaries:
            raise SystemExit(f"template.yaml: {logical_id} wants the binary {name}, which was not built")
        zip_path, digest = archive(name, binaries[name], work_dir)
        key = f"{name}/{digest}.zip"
        new += upload(s3, zip_path, key)
        resource["Properties"]["CodeUri"] = {"Bucket": ARTIFACTS, "Key": key}
    return new


def current_status(cloudformation, stack):
    try:
        return cloudformation.describe_stacks(StackName=stack)["Stacks"][0]["StackStatus"]
    except ClientError:
        return None


def failures(cloudformation, stack):
    events = cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
    return [
        f"  {event['LogicalResourceId']} ({event['ResourceType']}): {event.get('ResourceStatusReason', '')}"
        for event in events
        if event["ResourceStatus"].endswith("FAILED")
    ]


def stored(template, endpoint, s3):
    """Where CloudFormation finds the template: one sent along may be no longer than 51,200 bytes."""
    body = json.dumps(template).encode()
    key = f"template/{hashlib.sha256(body).hexdigest()}.json"
    s3.put_object(Bucket=ARTIFACTS, Key=key, Body=body)
    return f"{endpoint}/{ARTIFACTS}/{key}"


def deploy(cloudformation, stack, template_url, parameters):
    exists = current_status(cloudformation, stack) not in (None, "REVIEW_IN_PROGRESS")
    change_set = f"change-{time.time_ns()}"
    cloudformation.create_change_set(
        StackName=stack,
        ChangeSetName=change_set,
        ChangeSetType="UPDATE" if exists else "CREATE",
        TemplateURL=template_url,
        Parameters=[{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()],
        Capabilities=CAPABILITIES,
    )
    wait = {"Delay": 1, "MaxAttempts": 600}
    try:
        cloudformation.get_waiter("change_set_create_complete").wait(
            StackName=stack, ChangeSetName=change_set, WaiterConfig=wait
        )
    except WaiterError:
        described = cloudformation.describe_change_set(StackName=stack, ChangeSetName=change_set)
        reason = described.get("StatusReason", "")
        if "didn't contain changes" in reason or "No updates" in reason:
            return False
        raise SystemExit(f"the change set was refused: {reason}")
    cloudformation.execute_change_set(StackName=stack, ChangeSetName=change_set)
    waiter = "stack_update_complete" if exists else "stack_create_complete"
    try:
        cloudformation.get_waiter(waiter).wait(StackName=stack, WaiterConfig=wait)
    except WaiterError:
        raise SystemExit("the stack could not be deployed:\n" + "\n".join(failures(cloudformation, stack)))
    return True


def complete(stack_resources, template, client):
    """Sets what the emulator's CloudFormation leaves out, so that the table and the buckets behave as deployed on AWS."""
    physical = {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in stack_resources}
    for logical_id, resource in of_type(template, "AWS::S3::Bucket"):
        properties = resource["Properties"]
        if properties.get("ObjectLockEnabled"):
            retention = dict(properties["ObjectLockConfiguration"]["Rule"]["DefaultRetention"])
            if not isinstance(retention["Days"], int):
                # Locally nothing needs to outlive the day.
                retention["Days"] = 1
            client("s3").put_object_lock_configuration(
                Bucket=physical[logical_id],
                ObjectLockConfiguration={"ObjectLockEnabled": "Enabled", "Rule": {"DefaultRetention": retention}},
            )
    for logical_id, resource in of_type(template, "AWS::DynamoDB::Table"):
        properties = resource["Properties"]
        if "TimeToLiveSpecification" in properties:
            dynamodb, table = client("dynamodb"), physical[logical_id]
            status = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]["TimeToLiveStatus"]
            if status == "DISABLED":
                dynamodb.update_time_to_live(
                    TableName=table, TimeToLiveSpecification=properties["TimeToLiveSpecification"]
                )


def fill(secrets, stack, client):
    """Gives every secret its document, unless it had it once already: functions replace the mailbox's refresh token, and
    a second deployment must not restore the first one."""
    manager = client("secretsmanager")
    for name, document in secrets.items():
        secret = f"{stack}/{name}"
        text = json.dumps(document, sort_keys=True)
        version = str(uuid.uuid5(uuid.NAMESPACE_URL, text))
        known = manager.list_secret_version_ids(SecretId=secret, IncludeDeprecated=True)["Versions"]
        if version not in [it["VersionId"] for it in known]:
            manager.put_secret_value(SecretId=secret, SecretString=text, ClientRequestToken=version)


def environments(stack_resources, template, client):
    """What the deployment gave every function, by the function's name."""
    physical = {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in stack_resources}
    found = {}
    for logical_id, resource in of_type(template, "AWS::Serverless::Function"):
        configuration = client("lambda").get_function_configuration(FunctionName=physical[logical_id])
        name = resource["Metadata"]["BuildProperties"]["Binary"]
        found[name] = {
            **configuration["Environment"]["Variables"],
            "AWS_LAMBDA_FUNCTION_NAME": configuration["FunctionName"],
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(configuration["MemorySize"]),
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        }
    return found


def subscribe(outputs, address, sns):
    """Subscribes the sandbox's page of alerts to both topics, unless it is subscribed already."""
    for name, output in [("ops", "OpsTopicArn"), ("critical", "CriticalTopicArn")]:
        if address and output in outputs:
            sns.subscribe(TopicArn=outputs[output], Protocol="http", Endpoint=f"{address}/{name}")


def main():
    request = json.load(sys.stdin)
    session = boto3.Session(
        aws_access_key_id="test", aws_secret_access_key="test", region_name=request["region"]
    )
    config = Config(retries={"max_attempts": 2}, s3={"addressing_style": "path"})

    def client(name):
        return session.client(name, endpoint_url=request["endpoint"], config=config)

    os.makedirs(request["work_dir"], exist_ok=True)
    with open(request["template"], encoding="utf-8") as file:
        template = yaml.load(file, TemplateLoader)
    without_what_cannot_be_met(template)
    without_traffic_shifts(template)
    with_plain_alarms(template["Resources"])
    with_numeric_concurrency(template, request["parameters"])
    if request["unscheduled"]:
        without_schedules(template)
    new = package(template, request["binaries"], request["work_dir"], client("s3"))
    say(f"{new} of {len(request['binaries'])} functions have new code")
    cloudformation = client("cloudformation")
    template_url = stored(template, request["endpoint"], client("s3"))
    changed = deploy(cloudformation, request["stack"], template_url, request["parameters"])
    say("stack deployed" if changed else "stack unchanged")
    stack = cloudformation.describe_stacks(StackName=request["stack"])["Stacks"][0]
    outputs = {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}
    resources = cloudformation.describe_stack_resources(StackName=request["stack"])["StackResources"]
    complete(resources, template, client)
    fill(request["secrets"], request["stack"], client)
    subscribe(outputs, request.get("alerts"), client("sns"))
    access = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": request["region"],
        "AWS_ENDPOINT_URL": request["endpoint"],
    }
    functions = {name: {**variables, **access} for name, variables in environments(resources, template, client).items()}
    json.dump({"outputs": outputs, "environments": functions}, sys.stdout)


if __name__ == "__main__":
    main()
