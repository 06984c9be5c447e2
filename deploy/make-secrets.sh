#!/bin/sh
# Creates the secrets that compose.yaml names, each in its own file below deploy/secrets. Existing ones are kept,
# because the database uses them.
set -eu
cd "$(dirname "$0")"

# Only the folder is closed to other users: the user in a container must read the files, which are mounted without the
# folder.
mkdir -p secrets
chmod 700 secrets
cd secrets

random() { head -c "$1" /dev/urandom | base64 | tr -d '\n'; }
letters() { head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n'; }
keep() {
  [ -s "$1" ] && return 0
  printf '%s\n' "$2" > "$1.new"
  chmod 644 "$1.new"
  mv "$1.new" "$1"
  echo "made deploy/secrets/$1"
}

keep postgres-password "$(letters)"
keep redis-password "$(letters)"
keep database-url "postgres://holderbook:$(cat postgres-password)@postgres:5432/holderbook"
keep database-service-url "postgres://holderbook_service:$(letters)@postgres:5432/holderbook"
keep database-read-url "$(sed 's/@postgres:/@replica:/' database-service-url)"
keep redis-url "redis://:$(cat redis-password)@redis:6379"
keep callback-master-key "$(random 32)"
keep pii-keys "$(date +%Y-%m):$(random 32)"
