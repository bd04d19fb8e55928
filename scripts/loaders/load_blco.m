function varargout = load_blco(name, format, modes)
% LOAD_BLCO  Reads the files of blco into MATLAB or Octave.
%
%   [lambda, U] = load_blco('x')                the model with the stem x
%   [modes, names] = load_blco('x', 'names')    the names of a model, or of a tensor ('x.tns')
%
% A model: lambda (R x 1) has the weights, U{n} is the factor matrix of mode n, with a row for each index
% and R columns. If the stem has several formats, the first of ktns, npy, text and csv is read, as
% by `blco cpd --init`; load_blco('x', 'text') reads text. load_blco('x', 'text', 3)
% reads three factor matrices. With Tensor Toolbox: K = ktensor(lambda, U).
%
% A tensor: blco convert x.blco x.tns, and T = load('-ascii', 'x.tns'): row i of T has the coordinates of
% nonzero i, counted from 1, and its value. With Tensor Toolbox: X = sptensor(T(:, 1:end - 1), T(:, end)).
%
% Names: modes{n} is the name of mode n, names{n} has the names of its indices; '' and {} where there are
% none.
%
% blco-model(5) and blco-csv(5) describe the files.
    if nargin < 2
        format = '';
    end
    if nargin < 3
        modes = 0;
    end
    if ends_with(name, '.blco')
        text = [name(1:end - 5) '.tns'];
        error('load_blco:tensor', '%s: make text of it first: blco convert %s %s', name, name, text);
    elseif strcmp(format, 'names')
        [varargout{1:2}] = load_names(name);
    else
        [varargout{1:2}] = load_model(name, format, modes);
    end
end

function yes = ends_with(text, ending)
    yes = numel(text) >= numel(ending) && strcmp(text(end - numel(ending) + 1:end), ending);
end

function yes = is_file(path)
    yes = exist(path, 'file') == 2;
end

% Models

function [lambda, U] = load_model(stem, format, modes)
    kinds = {'ktns', 'npy', 'text', 'csv'};
    first = {'.ktns', '.mode1.npy', '.mode1.mat', '.mode1.csv'};
    if ends_with(stem, '.ktns')
        stem = stem(1:end - 5);
        format = 'ktns';
    end
    if ~isempty(format) && ~any(strcmp(format, kinds))
        error('load_blco:format', 'format %s, expected ktns, npy, text or csv', format);
    end
    refuse_replacement([stem '.lock']);
    for k = 1:4
        if (isempty(format) || strcmp(format, kinds{k})) && is_file([stem first{k}])
            if k == 1
                [lambda, U] = load_ktns([stem first{k}]);
            else
                [lambda, U] = load_matrices(stem, kinds{k}, modes);
            end
            check_model(stem, lambda, U);
            return
        end
    end
    if isempty(format)
        format = 'ktns, npy, text or csv';
    end
    error('load_blco:absent', 'no model %s of format %s', stem, format);
end

% Refuses a model whose files are being replaced: some may be old and some new (blco-model(5)).
function refuse_replacement(lock)
    if ~is_file(lock)
        return
    end
    lines = strsplit(fileread(lock), sprintf('\n'));
    if any(strcmp(lines, 'replace'))
        error('load_blco:lock', ['%s: the files of this model are being replaced, or a run was killed ' ...
              'while it replaced them; the next run with this stem makes the model whole'], lock);
    end
end

function check_model(stem, lambda, U)
    for n = 1:numel(U)
        if size(U{n}, 2) ~= numel(lambda)
            error('load_blco:model', '%s: mode %d has %d columns, but there are %d weights', stem, n, ...
                  size(U{n}, 2), numel(lambda));
        end
    end
end

function [lambda, U] = load_matrices(stem, kind, modes)
    if strcmp(kind, 'npy')
        ending = '.npy';
        read = @load_npy;
    elseif strcmp(kind, 'csv')
        ending = '.csv';
        read = @load_csv;
    else
        ending = '.mat';
        read = @(path) load('-ascii', path);
    end
    U = {};
    path = [stem '.mode1' ending];
    while numel(U) < modes || (modes == 0 && is_file(path))
        U{end + 1} = read(path); %#ok<AGROW>
        path = sprintf('%s.mode%d%s', stem, numel(U) + 1, ending);
    end
    lambda = read([stem '.lambda' ending]);
    lambda = lambda(:);
end

% The numbers of CSV with a header and a first column of names.
function A = load_csv(path)
    lines = strsplit(fileread(path), sprintf('\n'));
    lines = lines(~cellfun('isempty', strtrim(lines)));
    rows = cell(numel(lines) - 1, 1);
    for k = 1:numel(rows)
        rows{k} = sscanf(regexprep(lines{k + 1}, '^("([^"]|"")*"|[^",]*),', ''), '%f,')';
    end
    if isempty(rows) || any(cellfun('length', rows) ~= numel(rows{1})) || isempty(rows{1})
        error('load_blco:csv', '%s: expected rows of a name and as many numbers each', path);
    end
    A = cell2mat(rows);
end

% A NumPy file with an array of doubles of one or two dimensions.
function A = load_npy(path)
    fid = open_file(path);
    closer = onCleanup(@() fclose(fid));
    magic = fread(fid, 8, 'uint8')';
    if numel(magic) < 8 || ~isequal(magic(1:6), [147 double('NUMPY')])
        error('load_blco:npy', '%s: is no file of NumPy', path);
    end
    if magic(7) == 1
        length_type = 'uint16';
    else
        length_type = 'uint32';
    end
    header = fread(fid, fread(fid, 1, length_type, 0, 'ieee-le'), 'uint8=>char')';
    shape = str2num(['[' char(regexp(header, '\((.*)\)', 'tokens', 'once')) ']']); %#ok<ST2NM>
    if isempty(strfind(header, '<f8')) || isempty(shape) || numel(shape) > 2 %#ok<STREMP>
        error('load_blco:npy', '%s: expected one or two lengths of doubles: %s', path, header);
    end
    shape = [shape 1];
    if isempty(regexp(header, '''fortran_order'': *True', 'once'))
        A = reshape(fread(fid, prod(shape), 'double', 0, 'ieee-le'), shape(2), shape(1))';
    else
        A = reshape(fread(fid, prod(shape), 'double', 0, 'ieee-le'), shape(1), shape(2));
    end
end

% The `ktensor` text of Tensor Toolbox.
function [lambda, U] = load_ktns(path)
    fid = open_file(path);
    closer = onCleanup(@() fclose(fid));
    expect_word(fid, path, 'ktensor');
    order = numbers(fid, path, 1);
    shape = numbers(fid, path, order);
    rank = numbers(fid, path, 1);
    lambda = numbers(fid, path, rank);
    U = cell(1, order);
    for n = 1:order
        expect_word(fid, path, 'matrix');
        if ~isequal(numbers(fid, path, 3), [2; shape(n); rank])
            error('load_blco:ktns', '%s: mode %d: expected a matrix of %d x %d', path, n, shape(n), rank);
        end
        U{n} = reshape(numbers(fid, path, shape(n) * rank), rank, shape(n))';
    end
end

function expect_word(fid, path, word)
    if ~strcmp(fscanf(fid, '%s', 1), word)
        error('load_blco:ktns', '%s: expected the word %s', path, word);
    end
end

function x = numbers(fid, path, count)
    x = fscanf(fid, '%f', count);
    if numel(x) ~= count
        error('load_blco:ktns', '%s: ends where %d numbers are expected', path, count);
    end
end

function fid = open_file(path)
    [fid, message] = fopen(path, 'r');
    if fid < 0
        error('load_blco:open', '%s: %s', path, message);
    end
end

% Names

function [modes, names] = load_names(name)
    stem = regexprep(name, '\.(tns|tns\.gz|ktns)$', '');
    refuse_replacement([stem '.lock']);
    modes = load_map([stem '.modes.map']);
    names = {};
    for n = 1:16
        names{n} = load_map(sprintf('%s.mode%d.map', stem, n)); %#ok<AGROW>
    end
    order = max([numel(modes), find(~cellfun('isempty', names))]);
    names = names(1:order);
    modes(end + 1:order) = {''};
end

% The names of a file, {} where there is none. A line end inside a name is escaped (blco-csv(5)).
function lines = load_map(path)
    lines = {};
    if ~is_file(path)
        return
    end
    text = regexprep(fileread(path), '\n$', '');
    if strncmp(text, char([239 187 191]), 3) % the mark of UTF-8
        text = text(4:end);
    end
    lines = regexprep(strsplit(text, sprintf('\n'), 'CollapseDelimiters', false), '\r$', '');
    lines = strrep(strrep(lines, '\x0a', sprintf('\n')), '\x0d', sprintf('\r'));
    lines = strrep(lines, '\x5c', '\');
end
