#!/bin/sh
# Makes what is missing, builds the image, starts everything, and returns once it is healthy.
set -eu
cd "$(dirname "$0")"
sh make-secrets.sh
exec docker compose --file compose.yaml up --build --detach --wait "$@"
