# package: scikit-learn
# uses: pipelines, cross validation and a grid search in two processes, forests, a kept model
# expect: True True 3 {'model__C': 1.0} True
import pickle

from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

x, y = load_iris(return_X_y=True)
pipeline = Pipeline([("scale", StandardScaler()), ("model", LogisticRegression())])
scores = cross_val_score(pipeline, x, y, n_jobs=2)
forest = RandomForestClassifier(50, n_jobs=-1, random_state=0).fit(x, y)
search = GridSearchCV(pipeline, {"model__C": [0.01, 1.0]}, n_jobs=2).fit(x, y)
groups = KMeans(3, n_init=10, random_state=0).fit(x)
kept = pickle.loads(pickle.dumps(forest))
print(
    bool(scores.mean() > 0.9),
    forest.score(x, y) > 0.99,
    len(set(groups.labels_)),
    search.best_params_,
    bool((kept.predict(x) == y).mean() > 0.99),
)
