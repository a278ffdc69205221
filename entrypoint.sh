#!/bin/sh
# Becomes the exporter, so that signals reach it; the words after the image's name are its arguments.
set -eu
exec hw-exporter "$@"
