package bench;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.hadoop.HadoopCatalog;
import org.apache.iceberg.spark.Spark3Util;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.analysis.TableAlreadyExistsException;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Iceberg's tables as a catalog that Spark 4.3 accepts.
 *
 * <p>Iceberg has no release for Spark 4.3, and Spark 4.3 refuses the catalog of those before, since
 * it has views. Everything but the catalog is Iceberg's own: how tables are read, merged into and
 * committed. Options that begin with {@code table-default.} are properties of every new table.
 */
public class IcebergTables implements TableCatalog {
  private static final String DEFAULT = "table-default.";

  private String name;
  private HadoopCatalog tables;
  private final Map<String, String> defaults = new HashMap<>();

  @Override
  public void initialize(String name, CaseInsensitiveStringMap options) {
    this.name = name;
    this.tables = new HadoopCatalog(new Configuration(), options.get("warehouse"));
    options.forEach(
        (key, value) -> {
          if (key.startsWith(DEFAULT)) {
            defaults.put(key.substring(DEFAULT.length()), value);
          }
        });
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public Identifier[] listTables(String[] namespace) {
    return tables.listTables(Namespace.of(namespace)).stream()
        .map(each -> Identifier.of(namespace, each.name()))
        .toArray(Identifier[]::new);
  }

  @Override
  public Table loadTable(Identifier ident) throws NoSuchTableException {
    try {
      return new Readable(tables.loadTable(own(ident)));
    } catch (org.apache.iceberg.exceptions.NoSuchTableException missing) {
      throw new NoSuchTableException(ident);
    }
  }

  @Override
  public Table createTable(Identifier ident, TableInfo info) throws TableAlreadyExistsException {
    Schema schema = SparkSchemaUtil.convert(info.schema());
    Map<String, String> properties = new HashMap<>(defaults);
    properties.putAll(Spark3Util.rebuildCreateProperties(info.properties()));
    try {
      return new Readable(
          tables
              .buildTable(own(ident), schema)
              .withPartitionSpec(Spark3Util.toPartitionSpec(schema, info.partitions()))
              .withProperties(properties)
              .create());
    } catch (AlreadyExistsException standing) {
      throw new TableAlreadyExistsException(ident);
    }
  }

  @Override
  public Table alterTable(Identifier ident, TableChange... changes) throws NoSuchTableException {
    List<TableChange> every = Arrays.asList(changes);
    List<TableChange> properties =
        every.stream()
            .filter(
                each ->
                    each instanceof TableChange.SetProperty
                        || each instanceof TableChange.RemoveProperty)
            .toList();
    List<TableChange> columns =
        every.stream().filter(each -> each instanceof TableChange.ColumnChange).toList();
    if (properties.size() + columns.size() < every.size()) {
      throw new UnsupportedOperationException("changes of " + ident + ": " + every);
    }
    Transaction transaction = tables.loadTable(own(ident)).newTransaction();
    Spark3Util.applyPropertyChanges(transaction.updateProperties(), properties).commit();
    Spark3Util.applySchemaChanges(transaction.updateSchema(), columns).commit();
    transaction.commitTransaction();
    return loadTable(ident);
  }

  @Override
  public boolean dropTable(Identifier ident) {
    return tables.dropTable(own(ident), true);
  }

  @Override
  public void renameTable(Identifier from, Identifier to) {
    throw new UnsupportedOperationException("tables in a folder cannot be renamed");
  }

  /** A table that names its columns without a method that Spark 4.3 no longer has. */
  private static class Readable extends SparkTable {
    Readable(org.apache.iceberg.Table table) {
      super(table);
    }

    @Override
    public Column[] columns() {
      return Arrays.stream(schema().fields())
          .map(each -> Column.create(each.name(), each.dataType(), each.nullable()))
          .toArray(Column[]::new);
    }
  }

  private static TableIdentifier own(Identifier ident) {
    return TableIdentifier.of(Namespace.of(ident.namespace()), ident.name());
  }
}
