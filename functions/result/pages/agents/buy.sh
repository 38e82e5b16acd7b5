# On a local stack (cargo xtask up): its sandbox has a demo wallet, which signs what a 402 asks for.
ORACLE=https://oracle.example
WALLET=http://127.0.0.1:8090/control/chain/pay
QUESTION='{"query":"Should we open a second shop next spring?"}'

ask() { curl --silent --show-error --json "$QUESTION" "$ORACLE/query" "$@"; }

REQUIRED=$(ask --output /dev/null --write-out '%header{payment-required}')
SIGNED=$(curl --silent --show-error --json "{\"required\":\"$REQUIRED\"}" "$WALLET")
PAYMENT=$(printf '%s' "$SIGNED" | sed 's/.*"payment_signature":"\([^"]*\)".*/\1/')
ask --header "PAYMENT-SIGNATURE: $PAYMENT"
