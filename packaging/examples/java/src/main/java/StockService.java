// SPDX-License-Identifier: MIT
//
// A service that changes the stock, and the script import-stock.sh beside it, which does so at night: never both at
// the same time.
//
//   mvn compile dependency:copy-dependencies
//   java -cp 'target/classes:target/dependency/*' StockService redis://127.0.0.1:6379
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class StockService {
  public static void main(String[] words) throws Exception {
    Config config = new Config();
    config.useSingleServer().setAddress(words.length > 0 ? words[0] : "redis://127.0.0.1:6379");
    RedissonClient redisson = Redisson.create(config);
    // The name is for this kind of lock alone: no redlock without --as redisson, no getReadWriteLock().
    RLock stock = redisson.getLock("stock");
    try {
      if (!stock.tryLock(10, TimeUnit.SECONDS)) {
        System.err.println("the stock is being imported");
        return;
      }
      try {
        System.out.println("the stock is ours");
      } finally {
        stock.unlock();
      }
    } finally {
      redisson.shutdown();
    }
  }
}
