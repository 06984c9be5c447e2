#!/bin/sh
# Runs a streaming standby in PGDATA: copies the primary first, unless a copy is there. Arguments are for `postgres`.
# PRIMARY is a connection string without a password; PRIMARY_PASSWORD_FILE holds that.
set -eu

# Not on a command line, and the secret's file is readable to more users than libpq accepts.
passwords=$(mktemp)
printf '*:*:*:*:%s\n' "$(cat "$PRIMARY_PASSWORD_FILE")" > "$passwords"
primary="$PRIMARY passfile=$passwords application_name=replica"

if [ ! -e "$PGDATA" ]; then
  # Moved into place when whole: a copy that was broken off is made again.
  mkdir -p "$(dirname "$PGDATA")"
  rm -rf "$PGDATA.new"
  pg_basebackup --dbname="$primary" --pgdata="$PGDATA.new" --wal-method=stream --checkpoint=fast
  touch "$PGDATA.new/standby.signal"
  mv "$PGDATA.new" "$PGDATA"
fi
exec postgres -c primary_conninfo="$primary" "$@"
