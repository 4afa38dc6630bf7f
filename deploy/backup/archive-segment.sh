#!/bin/sh
# Cassandra's archive_command: sh archive-segment.sh %path %name ARCHIVE. A name that is there is whole.
set -eu
segment=$1 name=$2 archive=$3
cp "$segment" "$archive/.$name.part"
mv "$archive/.$name.part" "$archive/$name"
