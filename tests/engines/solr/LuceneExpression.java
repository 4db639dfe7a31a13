import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.lucene.expressions.Expression;
import org.apache.lucene.expressions.js.JavascriptCompiler;
import org.apache.lucene.search.DoubleValues;

/**
 * Evaluates an expression of one variable, as derived features of the learning-to-rank plugin are, by Lucene's compiler:
 * java -cp 'lib/*' LuceneExpression.java EXPRESSION.txt VALUES.txt
 */
public class LuceneExpression {
  public static void main(String[] arguments) throws Exception {
    Expression expression = JavascriptCompiler.compile(Files.readString(Path.of(arguments[0])));
    if (expression.variables.length != 1) throw new IllegalArgumentException("one variable is expected");
    for (String line : Files.readAllLines(Path.of(arguments[1]))) {
      double value = Double.parseDouble(line);
      DoubleValues variable = new DoubleValues() {
        public double doubleValue() { return value; }
        public boolean advanceExact(int document) { return true; }
      };
      System.out.println(expression.evaluate(new DoubleValues[] {variable}));
    }
  }
}
