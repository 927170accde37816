// SPDX-License-Identifier: MIT
//
// redsync as the other side of a lock: peer NAME SECTIONS WORK PAUSE LOG WHO PORT… As Peer.java.
package main

import (
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

func number(word string) int {
	value, err := strconv.Atoi(word)
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	name, sections, work, pause, file, who := os.Args[1], number(os.Args[2]), number(os.Args[3]), number(os.Args[4]),
		os.Args[5], os.Args[6]
	out, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		log.Fatal(err)
	}
	say := func(what string) { fmt.Fprintf(out, "%s %s %d\n", what, who, time.Now().UnixMicro()) }
	var pools []redsyncredis.Pool
	for _, port := range os.Args[7:] {
		pools = append(pools, goredis.NewPool(redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})))
	}
	sync := redsync.New(pools...)
	say("ready")
	for _, err := os.Stat(file + ".go"); err != nil; _, err = os.Stat(file + ".go") {
		time.Sleep(time.Millisecond)
	}
	for i := 0; i < sections; i++ {
		lock := sync.NewMutex(name, redsync.WithExpiry(30*time.Second), redsync.WithTries(1<<30),
			redsync.WithRetryDelay(10*time.Millisecond))
		if err := lock.Lock(); err != nil {
			log.Fatal(err)
		}
		say("start")
		time.Sleep(time.Duration(work) * time.Millisecond)
		say("end")
		if _, err := lock.Unlock(); err != nil {
			log.Fatal(err)
		}
		time.Sleep(time.Duration(pause) * time.Millisecond)
	}
}
