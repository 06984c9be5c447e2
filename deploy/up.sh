#!/bin/sh
# Makes what is missing, builds the image, starts everything, and returns once it is healthy.
set -eu
cd "$(dirname "$0")"
sh make-secrets.sh
# Made here: a folder that the engine makes would belong to root.
mkdir -p config
exec docker compose --file compose.yaml up --build --detach --wait "$@"
