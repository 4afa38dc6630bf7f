#!/bin/sh
# Creates a restore point (mark): sh mark-log.sh COMMITLOG ARCHIVE. Copies all log data that no
# archived segment contains yet. Prints the mark's name, its time in UTC.
set -eu
log=$1 archive=$2
time=$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)
mark=$archive/marks/.$time.part
mkdir -p "$mark"
names() { (cd "$1" && find . -maxdepth 1 -name 'CommitLog-*.log' | sed 's:^\./::' | sort); }
# Segments in the archive are complete. Segments archived from now on are copied too.
names "$archive" >"$mark/archived"
names "$log" >"$mark/written"
names "$archive" >"$mark/since"
# Copy newest first: a concurrent write may extend an older segment, but leaves no gap.
for name in $(sort -u "$mark/written" "$mark/since" | comm -23 - "$mark/archived" | sort -r); do
  # A segment that has left the log is complete in the archive.
  cp "$log/$name" "$mark/" 2>/dev/null || cp "$archive/$name" "$mark/"
done
rm "$mark/written" "$mark/since"
mv "$mark" "$archive/marks/$time"
echo "$time"
