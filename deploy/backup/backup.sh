#!/bin/sh
# backup.sh FILE: back up the database of a match service into a new file.
#
# The address is that of libpq: PGHOST, PGPORT, PGUSER, PGPASSWORD (or a password file), PGDATABASE. Connect as the owner. The file gets its name
# only when the dump is complete and readable. Keep the checkpoint keys and the settings elsewhere: they are not in it.
set -eu
[ $# -eq 1 ] || { echo "usage: backup.sh FILE" >&2; exit 2; }
file=$1
[ ! -e "$file" ] || { echo "backup.sh: $file exists already" >&2; exit 1; }
umask 077
partial="$file.partial"
trap 'rm -f "$partial"' EXIT
pg_dump --format=custom --no-owner --no-privileges --file="$partial"
pg_restore --list "$partial" | grep -q ' TABLE DATA .* events ' || { echo "backup.sh: the dump has no log" >&2; exit 1; }
sync "$partial" 2>/dev/null || sync
mv "$partial" "$file"
echo "backup.sh: $file is complete"
