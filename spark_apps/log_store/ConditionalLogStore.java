package strandline;

import io.delta.storage.S3SingleDriverLogStore;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.s3a.RemoteFileChangedException;

/**
 * Delta's log in S3, where a commit is refused if there is one of its number, whoever made it.
 *
 * <p>Delta's own store for S3 looks whether a commit is there, and puts it without a condition: of
 * two drivers the second overwrites the first. This one has the store decide ({@code If-None-Match},
 * as delta-rs does). Delta then finds the other commit, and the engine looks at the table again.
 * That is so, too, where the other one is its own, whose answer was lost and which S3A put again.
 */
public class ConditionalLogStore extends S3SingleDriverLogStore {
  private static final String CONDITION = "fs.option.create.conditional.overwrite";

  public ConditionalLogStore(Configuration conf) {
    super(conf);
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration conf)
      throws IOException {
    if (overwrite) {
      super.write(path, actions, true, conf);
      return;
    }
    FileSystem store = path.getFileSystem(conf);
    if (!store.hasPathCapability(path, CONDITION)) {
      throw new UnsupportedOperationException(
          "S3A puts nothing with a condition here, so that commits of two drivers would overwrite"
              + " each other: set fs.s3a.create.conditional.enabled to true, or take"
              + " spark.delta.logStore.s3a.impl away");
    }
    try {
      FSDataOutputStreamBuilder<?, ?> file = store.createFile(path);
      file.recursive().overwrite(false).must(CONDITION, true);
      put(file.build(), actions);
    } catch (RemoteFileChangedException | org.apache.hadoop.fs.FileAlreadyExistsException error) {
      throw (FileAlreadyExistsException)
          new FileAlreadyExistsException(path.toString()).initCause(error);
    }
  }

  /** Closing is what puts the file: of one that is not whole nothing may be put. */
  private static void put(FSDataOutputStream file, Iterator<String> lines) throws IOException {
    try {
      while (lines.hasNext()) {
        file.write((lines.next() + "\n").getBytes(StandardCharsets.UTF_8));
      }
    } catch (IOException | RuntimeException | Error error) {
      file.abort();
      throw error;
    }
    file.close();
  }
}
