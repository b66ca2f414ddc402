import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBRequestHandler;
import com.amazonaws.services.dynamodbv2.local.server.LocalDynamoDBServerHandler;
import java.net.InetSocketAddress;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.handler.ContextHandler;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/**
 * DynamoDB Local on a loopback address: `java LocalStore HOST PORT FOLDER`.
 *
 * Its own main class listens on every address of the machine and asks nobody who they are; and it reports its use to
 * AWS unless told not to. This one does neither.
 */
class LocalStore {
    private static final boolean IN_MEMORY = false;
    private static final boolean SHARED = true; // by all regions and keys
    private static final boolean SLOW_TABLES = false;
    private static final String ANY_ORIGIN = null;
    private static final int THREADS = 12;

    public static void main(String[] arguments) throws Exception {
        var requests = new LocalDynamoDBRequestHandler(0, IN_MEMORY, arguments[2], SHARED, SLOW_TABLES);
        var server = new Server(new QueuedThreadPool(THREADS));
        var connector = new org.eclipse.jetty.server.ServerConnector(server, 1, 1);
        connector.setHost(arguments[0]);
        connector.setPort(Integer.parseInt(arguments[1]));
        server.addConnector(connector);
        var handler = new LocalDynamoDBServerHandler(requests, ANY_ORIGIN);
        server.setHandler(new ContextHandler(handler, "/"));
        server.start();
        server.join();
    }
}
