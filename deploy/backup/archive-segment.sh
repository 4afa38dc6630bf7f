#!/bin/sh
# Archives a commit log segment, as Cassandra's archive_command: sh archive-segment.sh %path %name
# ARCHIVE. A file with the final name is complete.
set -eu
segment=$1 name=$2 archive=$3
cp "$segment" "$archive/.$name.part"
mv "$archive/.$name.part" "$archive/$name"
