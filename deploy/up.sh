#!/bin/sh
# Creates missing secrets, builds the image, starts everything, and returns once it is healthy.
set -eu
cd "$(dirname "$0")"
sh make-secrets.sh
# Created here, because a folder that the engine creates belongs to root.
mkdir -p config
exec docker compose --file compose.yaml up --build --detach --wait "$@"
