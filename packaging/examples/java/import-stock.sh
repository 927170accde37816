#!/bin/sh
# SPDX-License-Identifier: MIT
# From crontab, on any host: imports the stock while StockService does not change it, and the service waits for the end.
exec redlock run --as redisson -w 10m stock -- ./import.sh "$@"
