// SPDX-License-Identifier: MIT
//
// node-redlock as the other side of a lock: node peer.js NAME SECTIONS WORK PAUSE LOG WHO PORT… As Peer.java.
const fs = require('fs');
const Redis = require('ioredis');
const Redlock = require('redlock');

const [name, sections, work, pause, log, who, ...ports] = process.argv.slice(2);
const clients = ports.map((port) => new Redis(Number(port)));
const redlock = new Redlock(clients, {retryCount: -1, retryDelay: 10, retryJitter: 10});
const out = fs.openSync(log, 'a');
const say = (what) => fs.writeSync(out, `${what} ${who} ${Math.round((performance.timeOrigin + performance.now()) * 1000)}\n`);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

(async () => {
  say('ready');
  while (!fs.existsSync(log + '.go')) await sleep(1);
  for (let i = 0; i < Number(sections); i++) {
    const lock = await redlock.lock(name, 30000);
    say('start');
    await sleep(Number(work));
    say('end');
    await lock.unlock();
    await sleep(Number(pause));
  }
  clients.forEach((client) => client.disconnect());
})();
