// SPDX-License-Identifier: MIT
//
// Redisson as the other side of a lock: java -cp … Peer.java KIND NAME SECTIONS WORK PAUSE LOG WHO URI…
//
// KIND: lock, fair, spin, red (a RedissonRedLock) or multi (a RedissonMultiLock), or "cluster-" before lock or fair.
// Once LOG.go is there, runs SECTIONS sections of WORK ms under the lock, with PAUSE ms between two of them, and writes
// "start WHO µs" and "end WHO µs" into LOG. For red and multi, each URI is a server of its own.
import java.io.File;
import java.io.FileOutputStream;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.Lock;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class Peer {
  static RLock lockOf(RedissonClient client, String kind, String name) {
    switch (kind) {
      case "fair": return client.getFairLock(name);
      case "spin": return client.getSpinLock(name);
      default: return client.getLock(name);
    }
  }

  public static void main(String[] words) throws Exception {
    String kind = words[0], name = words[1], log = words[5], who = words[6];
    int sections = Integer.parseInt(words[2]), work = Integer.parseInt(words[3]), pause = Integer.parseInt(words[4]);
    boolean cluster = kind.startsWith("cluster-");
    kind = kind.substring(cluster ? "cluster-".length() : 0);
    String[] uris = Arrays.copyOfRange(words, 7, words.length);
    List<RedissonClient> clients = new ArrayList<>();
    for (String uri : cluster ? new String[] {uris[0]} : uris) {
      Config config = new Config();
      if (cluster) config.useClusterServers().addNodeAddress(uris);
      else config.useSingleServer().setAddress(uri).setConnectionMinimumIdleSize(2).setConnectionPoolSize(4);
      clients.add(Redisson.create(config));
    }
    RLock[] locks = new RLock[clients.size()];
    for (int i = 0; i < locks.length; i++) locks[i] = lockOf(clients.get(i), kind, name);
    Lock lock = kind.equals("red") ? new RedissonRedLock(locks)
        : kind.equals("multi") ? new RedissonMultiLock(locks) : locks[0];
    try (FileOutputStream out = new FileOutputStream(log, true)) {
      out.write(("ready " + who + " 0\n").getBytes());
      while (!new File(log + ".go").exists()) Thread.sleep(1);
      for (int i = 0; i < sections; i++) {
        lock.lock();
        try {
          say(out, "start", who);
          Thread.sleep(work);
          say(out, "end", who);
        } finally {
          lock.unlock();
        }
        Thread.sleep(pause);
      }
    }
    for (RedissonClient client : clients) client.shutdown();
  }

  static void say(FileOutputStream out, String what, String who) throws Exception {
    long now = ChronoUnit.MICROS.between(Instant.EPOCH, Instant.now());
    out.write((what + " " + who + " " + now + "\n").getBytes());
  }
}
