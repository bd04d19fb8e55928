function varargout = load_blco(name, format, modes)
% LOAD_BLCO  Reads the files of blco into MATLAB or Octave.
%
%   [lambda, U] = load_blco('x')            the model with the stem x
%   [subs, vals, shape] = load_blco('x.blco')   a tensor
%   [modes, names] = load_blco('x', 'names')    the names of a model, or of a tensor ('x.blco')
%
% A model: lambda (R x 1) has the weights, U{n} is the factor matrix of mode n, with a row for each index
% and R columns. If the stem has several formats, the first of ktns, npy, text and csv is read, as
% by `blco cpd --init`; load_blco('x', 'text') reads text. load_blco('x', 'text', 3)
% reads three factor matrices. With Tensor Toolbox: K = ktensor(lambda, U).
%
% A tensor: row i of subs has the coordinates of nonzero i, counted from 1, vals(i) is its value, shape
% has the lengths of the modes. Nonzeros are in the order of the file. With Tensor Toolbox:
% X = sptensor(subs, vals, shape).
%
% Names: modes{n} is the name of mode n, names{n} has the names of its indices; '' and {} where there are
% none.
%
% blco-model(5) and blco-file(5) describe the files.
    if nargin < 2
        format = '';
    end
    if nargin < 3
        modes = 0;
    end
    if strcmp(format, 'names')
        [varargout{1:2}] = load_names(name);
    elseif ends_with(name, '.blco')
        [varargout{1:3}] = load_tensor(name);
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
    stem = regexprep(name, '\.(blco|tns|tns\.gz|ktns)$', '');
    refuse_replacement([stem '.lock']);
    modes = load_map([stem '.modes.map']);
    if ends_with(name, '.blco')
        own = mode_names(name);
        if ~all(cellfun('isempty', own))
            modes = own;
        end
    end
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

% The names of modes at the end of the first page of a .blco file.
function modes = mode_names(path)
    [~, ~, shape] = load_tensor(path);
    fid = open_file(path);
    closer = onCleanup(@() fclose(fid));
    modes = cell(1, numel(shape));
    for n = 1:numel(shape)
        fseek(fid, 4096 - 128 * (17 - n), 'bof');
        bytes = fread(fid, 128, 'uint8=>char')';
        modes{n} = bytes(1:find(bytes == 0, 1) - 1);
    end
end

% Tensors. Numbers of up to 128 bits, and bit fields, are arrays of uint64 with a row for each limb
% of 32 bits, the lowest limb first, and a column for each nonzero.

function [subs, vals, shape] = load_tensor(path)
    fid = open_file(path);
    closer = onCleanup(@() fclose(fid));
    [shape, nnz, segments] = read_header(path, fid);
    [mode_of, bit_of] = line_places(shape);
    subs = zeros(nnz, numel(shape));
    vals = zeros(nnz, 1);
    first = 0;
    for s = 1:numel(segments)
        fseek(fid, segments(s).offset, 'bof');
        data = fread(fid, segments(s).bytes, 'uint8=>uint8')';
        try
            [line, value] = decode_segment(data, segments(s).ngroups, numel(mode_of));
        catch damage
            error('load_blco:damage', '%s: damaged after nonzero %d: %s', path, first, damage.message);
        end
        rows = first + 1:first + numel(value);
        subs(rows, :) = coordinates(line, mode_of, bit_of, numel(shape));
        vals(rows) = value;
        first = first + numel(value);
    end
    if first ~= nnz || any(any(subs > repmat(shape, nnz, 1)))
        error('load_blco:damage', '%s: damaged; blco info says more', path);
    end
end

% Verifies the checksums of header and directory, but not those of segments, which would double the
% time.
function [shape, nnz, segments] = read_header(path, fid)
    page = fread(fid, 4096, 'uint8=>uint8')';
    if numel(page) < 4096 || ~isequal(double(page(1:8)), [137 double('BLCO') 13 10 26])
        error('load_blco:file', '%s: is no .blco file', path);
    end
    short = typecast(page(9:16), 'uint32');
    long = typecast(page(17:80), 'uint64');
    if short(1) ~= hex2dec('01020304')
        error('load_blco:file', '%s: has the byte order of another kind of machine', path);
    end
    if short(2) ~= 2 && short(2) ~= 3
        error('load_blco:file', '%s: version %d, expected 2 or 3', path, short(2));
    end
    header_crc = typecast(page(217:224), 'uint64');
    page(217:224) = 0;
    if crc64(page) ~= header_crc
        error('load_blco:file', '%s: the header is damaged', path);
    end
    fseek(fid, 0, 'eof');
    if ftell(fid) ~= long(1)
        error('load_blco:file', '%s: has %d bytes, expected %d', path, ftell(fid), long(1));
    end
    nnz = double(long(2));
    nsegments = double(long(4));
    data_end = double(long(5)) + double(long(6));
    fseek(fid, data_end, 'bof');
    rest = fread(fid, Inf, 'uint8=>uint8')';
    gap = double(long(7)) - data_end;
    if numel(rest) ~= gap + 24 * nsegments || crc64(rest) ~= long(8)
        error('load_blco:file', '%s: the directory is damaged', path);
    end
    order = double(typecast(page(81:84), 'uint32'));
    dims = double(typecast(page(89:216), 'uint64'));
    shape = dims(1:order);
    table = reshape(rest(gap + 1:end), 24, nsegments);
    segments = struct('offset', num2cell(double(column_field(table, 0, 8, 'uint64'))), ...
                      'bytes', num2cell(double(column_field(table, 8, 4, 'uint32'))), ...
                      'ngroups', num2cell(double(column_field(table, 12, 4, 'uint32'))));
end

% A field of `bytes` bytes, from byte `at` on, of each column of the table.
function x = column_field(table, at, bytes, type)
    x = typecast(reshape(table(at + 1:at + bytes, :), 1, []), type);
end

% CRC-64 (ECMA-182, reflected).
function crc = crc64(bytes)
    persistent table
    if isempty(table)
        polynomial = bitor(bitshift(uint64(hex2dec('C96C5795')), 32), uint64(hex2dec('D7870F42')));
        table = uint64(0:255);
        for k = 1:8
            odd = bitand(table, 1) == 1;
            table = bitshift(table, -1);
            table(odd) = bitxor(table(odd), polynomial);
        end
    end
    ones64 = intmax('uint64');
    crc = ones64;
    bytes = uint64(bytes);
    for k = 1:numel(bytes)
        crc = bitxor(table(double(bitand(bitxor(crc, bytes(k)), 255)) + 1), bitshift(crc, -8));
    end
    crc = bitxor(crc, ones64);
end

% The mode, and the bit of the mode's coordinate, of each bit of the encoding line, from the lowest up.
function [mode_of, bit_of] = line_places(shape)
    bits = zeros(size(shape));
    for n = 1:numel(shape)
        while 2^bits(n) < shape(n)
            bits(n) = bits(n) + 1;
        end
    end
    [bit_of, mode_of] = find(bsxfun(@lt, (0:max(bits) - 1)', bits));
    places = sortrows([bit_of(:), mode_of(:)]);
    bit_of = places(:, 1) - 1;
    mode_of = places(:, 2);
end

function subs = coordinates(line, mode_of, bit_of, order)
    subs = ones(size(line, 2), order);
    for b = 1:numel(mode_of)
        bit = bitand(bitshift(line(floor((b - 1) / 32) + 1, :), -mod(b - 1, 32)), 1);
        subs(:, mode_of(b)) = subs(:, mode_of(b)) + double(bit') * 2^bit_of(b);
    end
end

% The lines and values of a segment's bytes.
function [line, value] = decode_segment(data, ngroups, line_bits)
    limbs = 2 * ceil(line_bits / 64);
    stride = 24 + 4 * limbs;
    table = reshape(data(1:stride * ngroups), stride, ngroups);
    words = [uint64(typecast(data, 'uint32')), uint64([0 0])];
    at = double(column_field(table, 4, 4, 'uint32'));
    count = double(column_field(table, 8, 2, 'uint16'));
    low_bits = double(table(11, :));
    value_bits = double(table(13, :));
    least = column_field(table, 16, 8, 'int64');
    low_at = at * 8;
    value_at = low_at + ceil(count .* low_bits / 32) * 32;
    upper_at = value_at + ceil(count .* value_bits / 32) * 32;

    of = repelem(1:ngroups, count); % the group of each nonzero
    before = cumsum(count) - count;
    within = (0:numel(of) - 1) - before(of); % the number of each nonzero in its group
    upper = set_bits(words, upper_at / 32, double(table(15, :)), count, of) - within;
    low = fields(words, low_at(of) + within .* low_bits(of), low_bits(of), 4);
    line = reshape(uint64(typecast(reshape(table(25:end, :), 1, []), 'uint32')), limbs, ngroups);
    line = sum_lines(line(:, of), upper, low_bits(of), low);
    field = fields(words, value_at(of) + within .* value_bits(of), value_bits(of), 2);
    value = values(double(table(12, of)), double(table(14, of)), least(of), field);
end

% The fields of `bits` bits each, starting at bit `at` of the words.
function field = fields(words, at, bits, limbs)
    field = zeros(limbs, numel(at), 'uint64');
    for limb = 1:limbs
        width = min(max(bits - 32 * (limb - 1), 0), 32);
        some = find(width);
        if isempty(some)
            continue
        end
        start = at(some) + 32 * (limb - 1);
        index = floor(start / 32);
        pair = bitor(words(index + 1), bitshift(words(index + 2), 32));
        mask = bitshift(uint64(1), width(some)) - 1;
        field(limb, some) = bitand(bitshift(pair, -mod(start, 32)), mask);
    end
end

% The numbers, from 0, of the set bits in each group's bit vector: length(g) words starting at word at(g),
% with count(g) set bits. `of` has the group of each nonzero.
function position = set_bits(words, at, length, count, of)
    begin = cumsum(length) - length;
    owner = repelem(1:numel(at), length);
    index = (0:numel(owner) - 1) - begin(owner) + at(owner);
    bits = zeros(32, numel(index));
    for k = 1:32
        bits(k, :) = bitand(bitshift(words(index + 1), 1 - k), 1);
    end
    found = [0 cumsum(sum(bits, 1))];
    if ~isequal(found(begin + length + 1) - found(begin + 1), count)
        error('a bit vector has the wrong number of set bits');
    end
    position = find(bits(:))' - 1 - 32 * begin(of);
end

% line + (upper << low_bits) + low; only the lowest four limbs change.
function line = sum_lines(line, upper, low_bits, low)
    all32 = uint64(2^32 - 1);
    shifted = bitshift(uint64(upper), mod(low_bits, 32));
    carry = zeros(1, numel(upper), 'uint64');
    for limb = 1:min(4, size(line, 1))
        sum = line(limb, :) + low(limb, :) + carry;
        here = floor(low_bits / 32) == limb - 1;
        sum(here) = sum(here) + bitand(shifted(here), all32);
        below = floor(low_bits / 32) == limb - 2;
        sum(below) = sum(below) + bitshift(shifted(below), -32);
        line(limb, :) = bitand(sum, all32);
        carry = bitshift(sum, -32);
    end
end

% The values of fields, from the form, decimals and least of each nonzero's group.
function value = values(form, decimals, least, field)
    power = cumprod([1, 10 * ones(1, 22)]); % each is exact
    whole = least + int64(field(1, :)) + int64(field(2, :)) * int64(2^32);
    value = double(whole) ./ power(decimals + 1);
    constant = form == 0;
    value(constant) = typecast(least(constant), 'double');
    single_precision = form == 2;
    value(single_precision) = double(typecast(uint32(field(1, single_precision)), 'single'));
    full = form == 3;
    value(full) = typecast(bitor(field(1, full), bitshift(field(2, full), 32)), 'double');
    value = value(:);
end
