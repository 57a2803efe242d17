#!/bin/sh
# restore.sh FILE: restore a backup into an empty database, and check what was restored.
#
# The address is that of libpq (PGHOST, PGPORT, PGUSER, PGPASSWORD, PGDATABASE) and belongs to the owner of the database. Needs no role of the old
# cluster: `durak migrate` gives the service its rights. DURAK names the command line if it is not `durak`. Give the checkpoint keys and the
# place of published checkpoints (DURAK_CHECKPOINT_FOLDER, DURAK_CHECKPOINT_OBJECTS) as to the service: then a backup older than a published checkpoint is noticed.
# Exit code 0: restored and checked. Otherwise do not start the service.
set -eu
[ $# -eq 1 ] || { echo "usage: restore.sh FILE" >&2; exit 2; }
file=$1
durak=${DURAK:-durak}
tables=$(psql -X -q -A -t -c "SELECT count(*) FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')")
[ "$tables" = 0 ] || { echo "restore.sh: the database is not empty: it has $tables tables" >&2; exit 1; }
pg_restore --exit-on-error --single-transaction --no-owner --no-privileges --dbname="$PGDATABASE" "$file"
export DURAK_DATABASE_URL=postgresql://  # the address is in the variables of libpq
$durak migrate
$durak doctor
$durak audit --all
echo "restore.sh: $file is restored and checked"
