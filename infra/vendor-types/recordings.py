"""What the checks of recorded calls share: reading the recordings, and how a check ends."""

import json
import sys


def run(target, violations):
    """Ends the program: with 1 where a record of the target violates its types.

    `violations` takes a record and answers None where there is nothing to hold it against, else a list of lines.
    With --wrong as the first argument every record has to violate something, or the check has lost its teeth.
    """
    wrong = sys.argv[1:2] == ["--wrong"]
    checked, missed, found = 0, [], set()
    for path in sys.argv[2 if wrong else 1 :]:
        with open(path, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                record = json.loads(line)
                if record.get("target") != target or record.get("fault"):
                    continue
                problems = violations(record)
                if problems is None:
                    continue
                checked += 1
                found.update(problems)
                if not problems:
                    missed.append(number)
    print(json.dumps({"checked": checked, "violations": sorted(found)}, indent=1, ensure_ascii=False))
    if wrong and missed:
        print(f"nothing is wrong with the lines {missed}")
    sys.exit(1 if not checked or (missed if wrong else found) else 0)
